"""One chat over a scripted engine: states, versions, stopping, failing, saving, tools."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable

import pytest

from app.chat import Chat
from app.chat_context import ChatContext, ChatEvent
from app.chat_state import TRANSITIONS, BadTransition, ChatState, step
from app.chat_turns import CONTINUE_TEXT
from app.conversation import (
    Attachment,
    ChatSettings,
    Conversation,
    Node,
    Role,
    ToolStep,
    TurnStatus,
    messages,
)
from app.engine_service import EngineService
from app.turn_views import run_details, turn_view
from engine.errors import LoadError
from engine.types import (
    LIBRARY_VERSION,
    AudioPart,
    Backend,
    FinishReason,
    ImagePart,
    LoadedModel,
    LoadOptions,
    ModelInfo,
    SpecMode,
    TextPart,
    ToolCall,
    ToolSpec,
)
from tests.fakes.scripted_engine import (
    Call,
    Crash,
    Fail,
    Finish,
    Say,
    ScriptedEngine,
    Wait,
    scripted_info,
)
from ui.format import DASH

OPTIONS = LoadOptions(model_path="/models/a.litertlm")


class Kept:
    """A history that remembers what it was told, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []

    def save_soon(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> None:
        self.log += [(n.role, n.status) for n in nodes]

    async def save(self, conversation: Conversation, nodes: Iterable[Node] = ()) -> bool:
        self.save_soon(conversation, nodes)
        await asyncio.sleep(0)
        return True

    def drop_nodes(self, conversation: Conversation, ids: Iterable[str]) -> None:
        self.log += [("drop", i) for i in ids]


class Bench:
    """A chat with everything around it."""

    def __init__(self, engine: ScriptedEngine, *, supports_tools: bool = False) -> None:
        self.engine = engine
        self.service = EngineService(lambda: engine, asyncio.get_running_loop())
        self.history = Kept()
        self.options: LoadOptions | None = OPTIONS
        self.auto = False
        self.states: list[ChatState] = []

        async def inspect(path: str) -> ModelInfo:
            info = scripted_info(path, mtp=engine.mtp)
            return ModelInfo(
                **{f: getattr(info, f) for f in info.__struct_fields__ if f != "supports_tools"},
                supports_tools=supports_tools,
            )

        self.context = ChatContext(
            engine=self.service,
            options=lambda: self.options,
            inspect=inspect,
            history=self.history,
            auto_choice=lambda _path, _backend: self.auto,
        )
        self.chat = Chat(Conversation.new(), self.context)
        self.chat.subscribe(self._on_event)

    def _on_event(self, event: ChatEvent) -> None:
        if event is ChatEvent.STATE:
            self.states.append(self.chat.state)

    async def ask(self, text: str) -> Node:
        assert self.chat.send(text)
        await self.chat.wait()
        return self.chat.conversation.path()[-1]

    async def reach(self, state: ChatState) -> None:
        for _ in range(2000):
            if self.chat.state is state:
                return
            await asyncio.sleep(0.002)
        raise AssertionError(f"never {state}: {self.states}")


def run(
    engine: ScriptedEngine,
    body: Callable[[Bench], Awaitable[None]],
    *,
    supports_tools: bool = False,
) -> Bench:
    async def main() -> Bench:
        bench = Bench(engine, supports_tools=supports_tools)
        try:
            await asyncio.wait_for(body(bench), 60)
        finally:
            await bench.service.close()
            await bench.chat.wait()
        return bench

    return asyncio.run(main())


@pytest.mark.parametrize(("a", "b"), [*itertools.product(ChatState, ChatState)])
def test_every_pair_of_states_is_allowed_or_refused(a: ChatState, b: ChatState) -> None:
    if a is b or b in TRANSITIONS[a]:
        assert step(a, b) is b
    else:
        with pytest.raises(BadTransition):
            step(a, b)


def test_every_state_can_be_left_and_a_send_starts_only_from_rest() -> None:
    assert set(TRANSITIONS) == set(ChatState)
    assert all(TRANSITIONS.values())
    for state in ChatState:
        starts = ChatState.QUEUED in TRANSITIONS[state]
        assert starts == (not state.busy or state is ChatState.DECODING)


def test_a_plain_send_goes_through_all_states_and_keeps_numbers() -> None:
    async def body(bench: Bench) -> None:
        answer = await bench.ask("Hello there")
        s = ChatState
        assert bench.states == [s.QUEUED, s.LOADING, s.PREFILL, s.DECODING, s.IDLE]
        assert (answer.text, answer.status) == ("All right.", TurnStatus.DONE)
        assert answer.run is not None
        assert answer.run.reason is FinishReason.END
        assert answer.run.backend == "cpu"
        assert bench.chat.gauge.decode_tps == 50.0
        assert not bench.chat.gauge.live
        assert bench.chat.conversation.title == "Hello there"

    bench = run(ScriptedEngine(), body)
    assert bench.history.log[:2] == [("user", "done"), ("assistant", "streaming")]
    assert bench.history.log[-1] == ("assistant", "done")


def test_the_question_is_on_its_way_to_the_disk_before_the_engine_is_asked() -> None:
    kept_first: list[bool] = []

    async def body(bench: Bench) -> None:
        class Asked(ScriptedEngine):
            def load(self, options: LoadOptions) -> LoadedModel:
                kept_first.append(("user", "done") in bench.history.log)
                return super().load(options)

        bench.service._worker._factory = Asked
        await bench.ask("q")

    run(ScriptedEngine(), body)
    assert kept_first == [True]


def test_a_send_has_reached_the_engine_when_its_turns_are_made() -> None:
    """Making the turns in the window takes as long as the engine takes to the first word."""
    reached: list[bool] = []

    async def body(bench: Bench) -> None:
        await bench.ask("loads the model")

        def on_event(event: ChatEvent) -> None:
            if event is ChatEvent.TURNS:
                reached.append(bench.service.state.busy_run is not None)

        bench.chat.subscribe(on_event)
        await bench.ask("again")

    run(ScriptedEngine(), body)
    assert reached[0]


def test_stop_keeps_the_text_and_the_next_send_has_it_in_memory() -> None:
    engine = ScriptedEngine([[Say("Once upon"), Wait(10)]])

    async def body(bench: Bench) -> None:
        bench.chat.send("story")
        await bench.reach(ChatState.DECODING)
        bench.chat.stop()
        assert bench.chat.state is ChatState.STOPPING
        bench.chat.stop()
        await bench.chat.wait()
        node = bench.chat.conversation.path()[-1]
        assert (node.text, node.status) == ("Once upon", TurnStatus.STOPPED)
        await bench.ask("again")
        assert [m.text for m in engine.requests[-1].history] == ["story", "Once upon"]

    run(engine, body)


def test_stop_right_after_send_never_asks_the_engine() -> None:
    async def body(bench: Bench) -> None:
        bench.chat.send("q")
        bench.chat.stop()
        await bench.chat.wait()
        assert bench.chat.state is ChatState.IDLE
        assert bench.chat.conversation.path()[-1].status is TurnStatus.STOPPED

    assert run(ScriptedEngine(), body).engine.requests == []


def test_regenerate_makes_a_version_and_edit_a_branch() -> None:
    engine = ScriptedEngine([[Say("A1")], [Say("A2")], [Say("B")]])

    async def body(bench: Bench) -> None:
        first = await bench.ask("q")
        assert bench.chat.regenerate(first.id)
        await bench.chat.wait()
        path = bench.chat.conversation.path()
        assert [n.text for n in path] == ["q", "A2"]
        assert bench.chat.conversation.versions(first.id) == [first.id, path[-1].id]
        assert bench.chat.edit(path[0].id, "other")
        await bench.chat.wait()
        assert [n.text for n in bench.chat.conversation.path()] == ["other", "B"]
        assert engine.requests[-1].history == ()
        bench.chat.select_version(path[0].id)
        assert [n.text for n in bench.chat.conversation.path()] == ["q", "A2"]

    run(engine, body)


def test_continue_that_does_not_fit_keeps_the_answer() -> None:
    async def body(bench: Bench) -> None:
        node = await bench.ask("Hello")
        bench.chat.conversation.nodes[node.id].status = TurnStatus.LIMIT
        assert bench.chat.continue_(node.id)
        await bench.chat.wait()
        kept = bench.chat.conversation.nodes[node.id]
        assert (kept.text, kept.status) == ("one", TurnStatus.CONTEXT_FULL)
        assert bench.chat.state is ChatState.FAILED

    run(ScriptedEngine([[Say("one")], [Fail("message_too_long")]]), body)


def test_continue_grows_the_same_turn_and_stores_no_instruction() -> None:
    engine = ScriptedEngine([[Say("One two"), Finish(FinishReason.LIMIT)], [Say(" three.")]])

    async def body(bench: Bench) -> None:
        node = await bench.ask("count")
        assert node.status is TurnStatus.LIMIT
        assert bench.chat.continue_(node.id)
        await bench.chat.wait()
        assert (node.text, node.status) == ("One two three.", TurnStatus.DONE)
        assert not bench.chat.continue_(node.id)
        sent = engine.requests[-1]
        assert sent.message.text == CONTINUE_TEXT
        assert [m.text for m in sent.history] == ["count", "One two"]
        texts = [n.text for n in bench.chat.conversation.nodes.values()]
        assert CONTINUE_TEXT not in texts

    run(engine, body)


def test_a_failed_send_fails_the_turn_and_leaves_a_way_on() -> None:
    engine = ScriptedEngine([[Say("half"), Fail("send_failed", "INTERNAL: x")]])

    async def body(bench: Bench) -> None:
        node = await bench.ask("q")
        assert bench.chat.state is ChatState.FAILED
        assert node.status is TurnStatus.FAILED
        assert node.error
        assert "INTERNAL" not in node.error
        assert bench.chat.details(node.id) == "INTERNAL: x"
        assert (await bench.ask("again")).status is TurnStatus.DONE

    run(engine, body)


def test_a_crash_keeps_the_partial_text() -> None:
    async def body(bench: Bench) -> None:
        node = await bench.ask("q")
        assert (node.text, node.status) == ("half", TurnStatus.FAILED)
        assert not bench.chat.gauge.live
        assert bench.chat.gauge.decode_tps is None
        assert (await bench.ask("again")).status is TurnStatus.DONE

    run(ScriptedEngine([[Say("half"), Crash()]]), body)


def test_a_failed_answer_keeps_how_it_was_made() -> None:
    engine = ScriptedEngine([[Say("one"), Say(" two"), Fail("send_failed", "x")], [Crash()]])

    async def body(b: Bench) -> None:
        answer = await b.ask("question")
        record = answer.run
        assert record is not None
        assert (record.model, record.model_path) == ("a", OPTIONS.model_path)
        assert (record.backend, record.speculative) == ("cpu", False)
        assert record.engine_version == LIBRARY_VERSION
        assert record.reason is FinishReason.ERROR
        assert record.finished > 0
        assert record.elapsed_s is not None
        assert record.decode_tokens == 2
        assert record.decode_tps is None
        shown = dict(run_details(record))
        assert shown["Stop reason"] == "failed"
        assert shown["Model"] == "a"
        assert shown["decode tok/s"] == shown["Prompt tokens"] == DASH
        killed = await b.ask("again")
        assert killed.run is not None
        assert killed.run.decode_tokens is None
        assert killed.run.elapsed_s is not None
        assert dict(run_details(killed.run))["Answer tokens"] == DASH
        view = turn_view(b.chat, killed)
        assert view.footer is not None
        assert view.footer.stop_reason == "failed"

    run(engine, body)


def test_an_answer_under_way_already_tells_how_it_is_made() -> None:
    engine = ScriptedEngine([[Say("one"), Wait(60), Finish()]])

    async def body(b: Bench) -> None:
        b.chat.send("question")
        await b.reach(ChatState.DECODING)
        answer = b.chat.conversation.path()[-1]
        assert answer.run is not None, "what is left when the program is killed now"
        assert (answer.run.model, answer.run.finished) == ("a", 0.0)
        assert turn_view(b.chat, answer).footer is None
        b.chat.stop()
        await b.chat.wait()
        assert answer.run.reason is FinishReason.STOPPED

    run(engine, body)


def test_load_failure_and_no_model_are_failures_of_the_turn() -> None:
    async def body(bench: Bench) -> None:
        assert (await bench.ask("q")).status is TurnStatus.FAILED
        bench.options = None
        await bench.ask("q")
        assert bench.chat.error is not None
        assert bench.chat.error.code == "not_loaded"

    run(ScriptedEngine(load_results=[LoadError("load_failed")]), body)


def test_a_message_that_does_not_fit_is_taken_back() -> None:
    async def body(bench: Bench) -> None:
        bench.chat.send("far too long")
        await bench.chat.wait()
        assert bench.chat.rejected is not None
        assert bench.chat.rejected.text == "far too long"
        assert bench.chat.conversation.path() == []
        assert any(kind == "drop" for kind, _ in bench.history.log)

    run(ScriptedEngine([[Fail("message_too_long")]]), body)


def test_nothing_but_thoughts_is_said_so() -> None:
    engine = ScriptedEngine([[Say(thought="hm"), Finish(FinishReason.LIMIT)], []])

    async def body(bench: Bench) -> None:
        node = await bench.ask("q")
        assert node.status is TurnStatus.LIMIT
        assert bench.chat.error is not None
        assert bench.chat.error.code == "only_thoughts"
        assert (await bench.ask("q")).status is TurnStatus.FAILED
        assert bench.chat.error is not None
        assert bench.chat.error.code == "empty_answer"

    run(engine, body)


@pytest.mark.parametrize(
    ("mtp", "mode", "auto", "wanted"),
    [
        (True, SpecMode.OFF, True, False),
        (True, SpecMode.ON, False, True),
        (True, SpecMode.AUTO, True, True),
        (True, SpecMode.AUTO, False, False),
        (False, SpecMode.ON, True, False),
        (False, SpecMode.AUTO, True, False),
    ],
)
def test_every_send_says_whether_to_speculate(
    mtp: bool, mode: SpecMode, auto: bool, wanted: bool
) -> None:
    engine = ScriptedEngine(mtp=mtp)

    async def body(bench: Bench) -> None:
        bench.auto = auto
        bench.chat.change_settings(ChatSettings(spec=mode))
        node = await bench.ask("q")
        assert engine.requests[-1].speculative is wanted
        assert node.run is not None
        assert node.run.speculative is wanted
        assert bench.chat.speculative_for(scripted_info("x", mtp=mtp), Backend.CPU) is wanted

    run(engine, body)


def test_the_live_rate_is_unknown_while_speculating() -> None:
    engine = ScriptedEngine([[Say("a"), Wait(0.01), Say("b"), Wait(0.3)]] * 2)

    async def body(bench: Bench) -> None:
        for mode, known in ((SpecMode.ON, False), (SpecMode.OFF, True)):
            bench.chat.change_settings(ChatSettings(spec=mode))
            bench.chat.send("q")
            await bench.reach(ChatState.DECODING)
            await asyncio.sleep(0.1)
            assert bench.chat.gauge.live
            assert (bench.chat.gauge.decode_tps is not None) is known
            await bench.chat.wait()

    run(engine, body)


CALL = ToolCall(name="get_time", arguments_json='{"city":"Paris"}')
SPEC = ToolSpec(name="get_time", description="", parameters_json="{}")


def use_tools(bench: Bench, seconds: float = 0.0) -> None:
    async def runner(_chat: Chat, call: ToolCall) -> ToolStep:
        await asyncio.sleep(seconds)
        return ToolStep(
            name=call.name, arguments_json=call.arguments_json, result_json='{"time":"12:00"}'
        )

    bench.context.tool_runner = runner
    bench.context.tool_specs = lambda _chat: (SPEC,)
    bench.chat.change_settings(ChatSettings(tools=True))


def test_tool_calls_run_and_their_results_go_back() -> None:
    engine = ScriptedEngine([[Call((CALL,))], [Say("It is noon.")]])

    async def body(bench: Bench) -> None:
        use_tools(bench)
        node = await bench.ask("time?")
        assert node.text == "It is noon."
        assert [s.name for s in node.tool_steps] == ["get_time"]
        second = engine.requests[1]
        assert second.message.role == "tool"
        assert [m.role for m in second.history] == ["user", "assistant"]
        assert second.tools == (SPEC,)
        assert bench.chat.state is ChatState.IDLE
        roles = [m.role for m in messages(bench.chat.conversation.path(), "")]
        assert roles == ["user", "assistant", "tool", "assistant"]

    run(engine, body, supports_tools=True)


def test_tool_rounds_are_bounded() -> None:
    engine = ScriptedEngine([[Call((CALL,))] for _ in range(50)])

    async def body(bench: Bench) -> None:
        use_tools(bench)
        await bench.ask("time?")
        assert not bench.chat.busy

    run(engine, body, supports_tools=True)
    assert len(engine.requests) == 8


def test_stop_while_a_tool_runs() -> None:
    engine = ScriptedEngine([[Call((CALL,))]])

    async def body(bench: Bench) -> None:
        use_tools(bench, seconds=30)
        bench.chat.send("time?")
        await bench.reach(ChatState.DECODING)
        await asyncio.sleep(0.02)
        bench.chat.stop()
        await asyncio.wait_for(bench.chat.wait(), 15)
        assert bench.chat.state is ChatState.IDLE

    run(engine, body, supports_tools=True)


def test_deleting_in_the_middle_keeps_what_follows_and_undo_restores() -> None:
    engine = ScriptedEngine([[Say(c)] for c in "ABC"])

    async def body(bench: Bench) -> None:
        for text in "abc":
            await bench.ask(text)
        chat = bench.chat
        before = [n.text for n in chat.conversation.path()]
        removed = chat.delete_turn(chat.conversation.path()[2].id)
        assert removed is not None
        assert [n.text for n in chat.conversation.path()] == ["a", "A", "c", "C"]
        chat.undo_delete(removed)
        assert [n.text for n in chat.conversation.path()] == before
        removed = chat.delete_turn(chat.conversation.path()[-1].id)
        assert removed is not None
        assert [n.text for n in chat.conversation.path()] == ["a", "A", "b", "B", "c"]
        assert [n.role for n in chat.conversation.path()][-1] is Role.USER
        chat.undo_delete(removed)
        assert chat.delete_turn(chat.conversation.path()[0].id)
        assert [n.text for n in chat.conversation.path()] == ["b", "B", "c", "C"]

    run(engine, body)


def test_dropping_the_oldest_turns_only_shortens_what_is_sent() -> None:
    engine = ScriptedEngine([[Say(c)] for c in "ABC"])

    async def body(bench: Bench) -> None:
        await bench.ask("a")
        assert not bench.chat.drop_oldest()
        await bench.ask("b")
        assert bench.chat.drop_oldest()
        await bench.ask("c")
        assert [m.text for m in engine.requests[-1].history] == ["b", "B"]
        assert len(bench.chat.conversation.path()) == 6

    run(engine, body)


FILES = tuple(
    Attachment(kind=kind, file=f"{number * 40}.{end}", name=name, bytes=9)
    for kind, number, end, name in (
        ("audio", "a", "wav", "say.wav"),
        ("image", "b", "png", "cat.png"),
        ("image", "c", "jpg", "dog.jpg"),
    )
)


def test_media_goes_before_the_words_and_with_every_way_to_ask_again() -> None:
    engine = ScriptedEngine([[Say("A"), Finish(FinishReason.LIMIT)]])
    parts = (
        ImagePart(f"{'b' * 40}.png"),
        ImagePart(f"{'c' * 40}.jpg"),
        AudioPart(f"{'a' * 40}.wav"),
    )

    async def body(bench: Bench) -> None:
        bench.context.attachments_dir = "kept"
        chat = bench.chat
        assert chat.send("What?", FILES)
        await chat.wait()
        question, answer = chat.conversation.path()
        for act in (
            lambda: chat.continue_(answer.id),
            lambda: chat.regenerate(answer.id),
            lambda: chat.edit(question.id, "Which?"),
        ):
            assert act()
            await chat.wait()
        assert not chat.edit(question.id, "  ")
        assert chat.send("", FILES[1:2])
        await chat.wait()

    run(engine, body)
    kept = tuple(type(p)(f"kept/{p.path}") for p in parts)
    first, more, again, other, wordless = engine.requests
    assert first.message.parts == (*kept, TextPart("What?"))
    assert more.history[0] == first.message
    assert again.message == first.message
    assert other.message.parts == (*kept, TextPart("Which?"))
    assert wordless.message.parts == kept[:1]


@pytest.mark.parametrize(("files", "name"), [(FILES[1:2], "cat.png"), (FILES, "The attachment")])
def test_an_attachment_the_engine_cannot_read_is_named(
    files: tuple[Attachment, ...], name: str
) -> None:
    engine = ScriptedEngine([[Fail("bad_media", "INVALID_ARGUMENT: Failed to decode image.")]])

    async def body(bench: Bench) -> None:
        assert bench.chat.send("What?", files)
        await bench.chat.wait()

    bench = run(engine, body)
    question, answer = bench.chat.conversation.path()
    assert answer.error.startswith(f"{name} could not be used: ")
    assert question.attachments == files
