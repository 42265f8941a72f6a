"""Tools in the real window: `python -m tests.e2e.drive_tools CALLER`.

CALLER is a model file that declares tool calls. It would not call by itself: its messages are
forced into the wanted form on their way to the engine. With TANDEM_TEST_SHOTS a folder,
pictures of the tab in light and dark go there. A failed `assert` ends with code 1.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

FAKES = Path(__file__).resolve().parents[1] / "fakes"
LEFT = Qt.MouseButton.LeftButton
ANSWER = r"[A-Z][a-z]{2,9}\."


def call_form(name: str, arguments: dict[str, object]) -> str:
    text = json.dumps({"name": name, "arguments": arguments}, separators=(",", ":"))
    return f"<tool_call>{re.escape(text)}</tool_call>"


async def script(program):  # type: ignore[no-untyped-def]
    import asyncio

    from app.tools.mcp_client import ServerPhase
    from engine.types import Constraint, ConstraintKind
    from resources import DEMO_MODEL
    from tests.e2e.scenarios import Person
    from ui import tool_strings as words
    from ui.theme import theme

    me = Person(program)
    window, services, tools = me.window, me.services, program.services.tools
    forms: list[str] = []
    generate = services.engine.generate

    def forced(request, *args, **fields):  # type: ignore[no-untyped-def]
        if forms and request.constraint is None:
            form = Constraint(ConstraintKind.REGEX, forms.pop(0))
            request = msgspec.structs.replace(request, constraint=form, speculative=False)
        return generate(request, *args, **fields)

    services.engine.generate = forced

    async def shots(name: str) -> None:
        folder = os.environ.get("TANDEM_TEST_SHOTS")
        for mode in ("dark", "light") if folder else ():
            theme().apply(mode=mode)
            await asyncio.sleep(0.2)
            window.grab().save(f"{folder}/{name}-{mode}.png")

    await me.ready()
    assert "Loading" not in window.header("chat").text_shown()
    window.select_tab("tools")
    tab = window.tab_widget("tools")
    assert not tab.ask.problem.isVisible()
    for name in ("get_battery", "get_device_info", "convert_units", "get_date_time"):
        tab.tools.rows[name].on.click()
    tab.tools.rows["calculate"].ask.click()
    assert tools.registry.find("calculate").ask
    assert [s.name for s in tools.registry.specs()] == ["calculate"], "no file picked, no file tool"

    # call, consent, result, answer
    forms[:] = [call_form("calculate", {"expression": "12.5*7"}), ANSWER]
    tab.ask.input.setText("What is 12.5 * 7?")
    QTest.mouseClick(tab.ask.send, LEFT)
    await me.until(lambda: tab.ask.log.consent)
    assert tab.ask.send.text() == words.STOP
    await shots("consent")
    await me.press(words.ALLOW_ONCE)
    await me.until(lambda: tools.asking.state == "idle")
    log = tab.ask.log.texts()
    assert log[0] == "You: What is 12.5 * 7?", log
    assert log[1] == '→ calculate({"expression":"12.5*7"})', log
    assert log[2] == '← {"result": 87.5}', log
    assert re.fullmatch("Model: " + ANSWER, log[3]), log
    await shots("answer")

    # stop while consent is open
    forms[:] = [call_form("calculate", {"expression": "1"})]
    tab.ask.input.setText("Again")
    QTest.mouseClick(tab.ask.send, LEFT)
    await me.until(lambda: tab.ask.log.consent)
    await me.press(words.STOP)
    await me.until(lambda: tools.asking.state == "idle")
    assert tab.ask.log.consent is None
    assert tab.ask.log.texts()[-1] == words.STOPPED

    # a structured answer
    tab.show_page(1)
    tab.structured.input.setText("Invent a person.")
    QTest.mouseClick(tab.structured.send, LEFT)
    await me.until(lambda: tools.asking.state == "idle" and tab.structured.verdict.isVisible())
    assert tab.structured.verdict.text() == words.CHECKED_VALID, tab.structured.sentence.text()
    assert set(json.loads(tab.structured.answer.toPlainText())) == {"name", "age", "likes"}
    await shots("structured")
    tab.structured.fields.text.setPlainText("{")
    assert tab.structured.fields.problem.isVisible()
    assert not tab.structured.send.isEnabled()

    # a tool server of one's own
    tab.show_page(0)
    await me.press(words.SERVERS)
    form = tools._dialog.form
    form.name.setText("mine")
    form.command.setText(sys.executable)
    form.args.setPlainText(str(FAKES / "mcp_server.py"))
    await me.press(words.ADD)
    await me.until(lambda: tools.servers.state("mine").phase is ServerPhase.READY)
    folder = os.environ.get("TANDEM_TEST_SHOTS")
    if folder:
        await asyncio.sleep(0.2)
        tools._dialog.grab().save(f"{folder}/servers.png")
    await me.press(words.CLOSE)
    await me.until(lambda: "greet" in tab.tools.rows)
    for tool in tools.registry.tools():
        tools.registry.choose(tool.name, enabled=tool.name == "greet")
    forms[:] = [call_form("greet", {"name": "Ann"}), ANSWER]
    tab.ask.input.setText("Greet Ann")
    QTest.mouseClick(tab.ask.send, LEFT)
    await me.until(lambda: tab.ask.log.consent)
    assert "mine" in tab.ask.log.consent.accessibleName()
    await me.press(words.ALWAYS)
    await me.until(lambda: tools.asking.state == "idle")
    assert any("Hello, Ann!" in line for line in tab.ask.log.texts()), tab.ask.log.texts()
    assert services.settings.value.tools_ask["mine/greet"] is False
    await shots("server")

    # the same tools in a chat, asked by a notice, kept as steps of the answer
    window.select_tab("chat")
    await me.press(words.CHAT_SWITCH[False])
    assert me.chat.settings.tools
    assert window.action("toggle_tools").isChecked()
    tools.registry.choose("greet", ask=True)
    forms[:] = [call_form("greet", {"name": "Bob"}), ANSWER]
    await me.send("Greet Bob")
    await me.until(lambda: me.notice().startswith("tool-consent"))
    assert me.page.turns()[-1].waiting == "deciding"
    await shots("chat-consent")
    await me.press(words.ALLOW_ONCE)
    await me.until(lambda: not me.chat.busy)
    steps = me.last().tool_steps
    assert [(s.name, s.state) for s in steps] == [("greet", "done")], me.last()
    assert "Hello, Bob!" in steps[0].result_json
    assert me.last().text
    await shots("chat")
    forms[:] = [r'<tool_call>\{"name":greet\}</tool_call>', ANSWER]
    await me.send("Greet Cy")
    await me.until(lambda: not me.chat.busy)
    assert [s.state for s in me.last().tool_steps] == ["failed"], me.last()
    assert '"name":greet' in json.loads(me.last().tool_steps[0].arguments_json)["text"]
    assert re.fullmatch(ANSWER, me.last().text), me.last()
    forms[:] = [call_form("greet", {"name": "Eve"})]
    await me.send("Greet Eve")
    await me.until(lambda: me.notice().startswith("tool-consent"))
    me.chat.stop()
    await me.until(lambda: not me.chat.busy)
    assert not me.notice().startswith("tool-consent")

    # a model without tools says so and offers the other page
    demo = str(DEMO_MODEL)
    await services.engine.load(msgspec.structs.replace(services.models.picked, model_path=demo))
    services.models.picked = msgspec.structs.replace(services.models.picked, model_path=demo)
    services.state.changed.emit()
    window.select_tab("tools")
    await me.until(lambda: tab.ask.problem.isVisible())
    assert not tab.ask.send.isEnabled()
    assert not window.action("toggle_tools").isEnabled()
    await shots("no-tools")
    await me.press(words.GO_STRUCTURED)
    assert tab.pages.currentIndex() == 1

    # a chat's answers can have a form too
    from ui.form_dialog import FormDialog

    window.select_tab("chat")
    window.action("answer_form").trigger()
    await me.until(lambda: me.dialog(FormDialog))
    dialog = me.dialog(FormDialog)
    dialog.fields.text.setPlainText("{")
    assert not dialog.use.isEnabled()
    assert dialog.fields.problem.text()
    dialog.fields.text.setPlainText(words.EXAMPLE_FORMS[0][2])
    await me.press(words.USE_FORM)
    button = tools.forms._buttons[me.chat.key]
    assert (button.isVisible(), button.accessibleName()) == (True, "Form: JSON schema")
    answer = await me.ask("Invent a person.")
    assert set(json.loads(answer.text)) == {"name", "age", "likes"}, answer
    assert answer.run.form_ok is True
    assert me.page.turns()[-1].footer.form.startswith("Valid")
    await shots("chat-form")
    me.chat.regenerate(answer.id)
    await me.until(lambda: not me.chat.busy and me.last().id != answer.id)
    assert me.last().run.form_ok is True, me.last()
    tools.forms.choose(me.chat.key, None)
    assert not button.isVisible()
    answer = await me.ask("Hello")
    assert (answer.run.form, answer.run.form_ok) == ("", None)


def main() -> int:
    from app import gui

    return gui.main(sys.argv[1], script)


if __name__ == "__main__":
    sys.exit(main())
