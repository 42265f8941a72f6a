"""The window: headers, tabs, notices, dialogs, accessibility, room at small sizes."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QLabel,
    QLineEdit,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from engine.errors import CODES
from engine.types import Backend, SpecMode
from ui import error_words
from ui import format as fmt
from ui.load_dialog import LoadDialog
from ui.main_window import MainWindow
from ui.model_picker import ModelPicker
from ui.theme import DARK, LIGHT, Tokens, theme
from ui.views import (
    BackendChoice,
    ComposerView,
    GaugeView,
    HeaderView,
    LoadChoice,
    LoadDialogView,
    ModelCardView,
    NoticeAction,
    NoticeView,
    PickerView,
    SpecChoice,
    TabView,
    TurnView,
)


@pytest.fixture
def window(qtbot: QtBot) -> MainWindow:
    theme().apply(mode="light", scale=1.0)
    made = MainWindow()
    made.allow_close()
    qtbot.addWidget(made)
    made.add_tab("models", "Models", QWidget())
    made.set_sidebar(QWidget())
    made.show()
    return made


READY = HeaderView(
    phase="ready",
    model="Demo",
    backend=Backend.CPU,
    context_tokens=1024,
    speculative=True,
    thinking=False,
    modalities="text only",
)


def test_one_state_in_every_header(window: MainWindow) -> None:
    window.set_header(READY)
    assert (
        window.header("chat").text_shown()
        == "Demo · CPU · context 1024 tokens · speculative on · thinking off · text only"
    )
    assert (
        window.header("models").text_shown() == "Demo · CPU · context 1024 tokens · speculative on"
    )
    window.set_header(HeaderView())
    assert window.header("models").text_shown() == "No model loaded"
    cancelled: list[bool] = []
    window.cancel_load_requested.connect(lambda: cancelled.append(True))
    window.set_header(
        HeaderView(phase="loading", model="Demo", backend=Backend.GPU, loading_s=3.21)
    )
    assert window.header("chat").text_shown() == "Loading Demo on GPU… 3.2 s"
    window.header("chat")._button.click()
    assert cancelled == [True]


def test_gauge_is_written_as_agreed() -> None:
    full = GaugeView(used=287, total=2048, elapsed_s=1.44, decode_tps=81.04, ttft_s=0.238)
    assert full.text() == "context 287/2048 (14%) · 1.4s · 81.0 tok/s decode · TTFT 0.24s"
    assert GaugeView(elapsed_s=2.0).text() == "2.0s"
    assert GaugeView(elapsed_s=2.0, decode_tps=5, live=True).text() == "2.0s · ≈ 5.0 tok/s decode"
    assert not GaugeView(used=85, total=100).nearly_full
    assert GaugeView(used=86, total=100).nearly_full


def test_every_error_code_has_a_sentence() -> None:
    assert error_words.error_codes() == CODES
    for code in CODES:
        text = error_words.error(code)
        assert text.headline
        assert "{" not in text.sentence
    assert error_words.error("something_new").sentence


def test_titles_cannot_reorder_or_hide_text() -> None:
    assert fmt.plain("a\u202egpj.exe\x00\nb") == "a\ufffdgpj.exe\ufffd b"
    assert TabView(key="k", title="x\u2066y", speculative=False).text() == "x\ufffdy · spec off"


def test_conversation_tabs_say_the_switch(window: MainWindow, qtbot: QtBot) -> None:
    window.chat.add_conversation(TabView(key="a", title="First", speculative=False))
    window.chat.add_conversation(TabView(key="b", title="Second", speculative=True))
    bar = window.chat.tabs.bar
    assert bar.accessibleTabName(0) == "First · spec off"
    assert bar.accessibleTabName(1) == "Second · spec on"
    assert window.chat.current_key() == "b"
    closed: list[str] = []
    window.chat.close_requested.connect(closed.append)
    window.chat.set_tab(TabView(key="b", title="Second", speculative=False))
    assert bar.accessibleTabName(1) == "Second · spec off"
    window.action("next_tab").trigger()
    assert window.chat.current_key() == "a"
    window.chat.remove_conversation("a")
    assert window.chat.keys() == ["b"]


def test_notices_queue_by_urgency(window: MainWindow) -> None:
    pressed: list[tuple[str, str]] = []
    window.notice_action.connect(lambda n, a: pressed.append((n, a)))
    bad = NoticeView(
        id="x", headline="Engine stopped", level="bad", actions=(NoticeAction("go", "Restart"),)
    )
    window.show_notice(bad)
    window.show_notice(NoticeView(id="y", headline="Saved"))
    bar = window.chat.notices
    assert bar.current() == bad
    next(b for b in bar.findChildren(QAbstractButton) if b.text() == "Restart").click()
    assert pressed == [("x", "go")]
    window.clear_notice("x")
    shown = bar.current()
    assert shown is not None
    assert shown.id == "y"
    window.clear_notice("y")
    assert bar.isHidden()


def test_closing_is_only_asked_for(qtbot: QtBot) -> None:
    made = MainWindow()
    qtbot.addWidget(made)
    asked: list[bool] = []
    made.close_requested.connect(lambda: asked.append(True))
    made.show()
    assert not made.close()
    assert asked == [True]
    made.allow_close()
    assert made.close()


def test_lazy_tab_is_made_when_opened(window: MainWindow) -> None:
    made: list[bool] = []

    def factory() -> QWidget:
        made.append(True)
        return QWidget()

    window.add_tab("bench", "Benchmark", factory)
    assert made == []
    window.select_tab("bench")
    window.select_tab("chat")
    window.select_tab("bench")
    assert made == [True]


def test_sidebar_folds_to_a_button(window: MainWindow, qtbot: QtBot) -> None:
    window.resize(1280, 800)
    qtbot.waitUntil(window.chat.sidebar_visible, timeout=30_000)
    window.resize(800, 600)
    qtbot.waitUntil(lambda: not window.chat.sidebar_visible(), timeout=30_000)
    assert window.chat._fold_button.isVisible()
    window.chat._fold_button.click()
    assert window.chat.sidebar_visible()


def dialog_view(**changes: object) -> LoadDialogView:
    values: dict[str, object] = {
        "model": "Demo",
        "path": "/m/demo.litertlm",
        "backends": (
            BackendChoice(backend=Backend.CPU, text="2 threads"),
            BackendChoice(backend=Backend.GPU, reason="No Vulkan adapter found"),
        ),
        "context_tokens": 1024,
        "max_context": 1024,
    }
    return LoadDialogView(**(values | changes))  # type: ignore[arg-type]


def test_load_dialog_returns_the_choice(qtbot: QtBot) -> None:
    dialog = LoadDialog(dialog_view(spec=SpecChoice(available=True)))
    got: list[LoadChoice] = []
    dialog.chosen.connect(got.append)
    dialog.open()
    assert not dialog.backends.card("gpu").radio.isEnabled()
    assert "No Vulkan adapter" in dialog.backends.card("gpu").radio.accessibleName()
    assert dialog.spec is not None
    dialog.spec.card("on").radio.click()
    dialog.load_button.click()
    assert got == [
        LoadChoice(
            path="/m/demo.litertlm",
            backend=Backend.CPU,
            spec=SpecMode.ON,
            context_tokens=1024,
            threads=0,
            cache="disk",
        )
    ]


def test_load_dialog_tells_what_was_measured_on_the_chosen_backend(qtbot: QtBot) -> None:
    both = (BackendChoice(backend=Backend.CPU), BackendChoice(backend=Backend.GPU))
    texts = {b: {SpecMode.ON: f"measured on {b.value}"} for b in (Backend.CPU, Backend.GPU)}
    view = dialog_view(spec=SpecChoice(available=True), spec_texts=texts, backends=both)
    dialog = LoadDialog(view)
    qtbot.addWidget(dialog)
    assert dialog.spec is not None
    on = dialog.spec.card("on").radio
    assert "measured on cpu" in on.accessibleName()
    dialog.backends.card("gpu").radio.click()
    assert "measured on gpu" in on.accessibleName()


def test_load_dialog_without_a_drafter_has_no_speculation(qtbot: QtBot) -> None:
    dialog = LoadDialog(dialog_view())
    qtbot.addWidget(dialog)
    assert dialog.spec is None
    assert dialog.choice().spec is SpecMode.OFF


def test_picker_never_picks_a_broken_file(qtbot: QtBot) -> None:
    cards = (
        ModelCardView(id="bad", name="bad.litertlm", problem="File is incomplete"),
        ModelCardView(id="ok", name="Demo", badges=("MTP",)),
    )
    picker = ModelPicker(PickerView(cards=cards, selected="bad"))
    picked: list[str] = []
    picker.picked.connect(picked.append)
    picker.open()
    assert picker.selected() == "ok"
    picker.load_button.click()
    assert picked == ["ok"]


def walk(item: QAccessibleInterface | None, depth: int = 0) -> list[QAccessibleInterface]:
    if item is None or not item.isValid() or depth > 30:
        return []
    out = [item]
    for n in range(item.childCount()):
        out += walk(item.child(n), depth + 1)
    return out


def test_every_control_has_a_name(window: MainWindow, qtbot: QtBot) -> None:
    page = window.chat.add_conversation(TabView(key="a", title="First", speculative=True))
    page.set_composer(ComposerView(spec=SpecChoice(available=True), attach=("image",)))
    page.set_turns(
        [
            TurnView(node_id="u", role="user", text="hello"),
            TurnView(node_id="a", role="assistant", text="**bold** words", version_count=2),
        ]
    )
    qtbot.waitUntil(lambda: not page.transcript._dirty, timeout=30_000)
    roles = QAccessible.Role
    for item in walk(QAccessible.queryAccessibleInterface(window)):
        if item.role() in (roles.PushButton, roles.ButtonMenu, roles.EditableText, roles.CheckBox):
            owner = item.object()
            assert item.text(QAccessible.Text.Name), owner
    for kind in (QAbstractButton, QLineEdit, QAbstractSpinBox):
        for control in window.findChildren(kind):
            if control.isVisible() and "qt_" not in control.objectName():
                text = control.text() if isinstance(control, QAbstractButton) else ""
                assert control.accessibleName() or text, control
    view = page.transcript.view_of("a")
    assert view is not None
    assert view.accessibleName() == "Answer: bold words"
    body = QAccessible.queryAccessibleInterface(view.body)
    assert body.text(QAccessible.Text.Name) == "Answer"


def test_tab_key_leaves_every_part_of_the_page(window: MainWindow, qtbot: QtBot) -> None:
    page = window.chat.add_conversation(TabView(key="a", title="First"))
    page.set_turns([TurnView(node_id="a", role="assistant", text="[l](https://e.org) words")])
    qtbot.waitUntil(lambda: not page.transcript._dirty, timeout=30_000)
    qtbot.wait(50)
    window.activateWindow()
    page.focus_composer()
    seen = set()
    for _ in range(40):
        focus = window.focusWidget()
        assert focus is not None
        seen.add(focus)
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    assert page.composer.edit in seen
    assert page.composer.send in seen
    assert window.tab_bar in seen
    view = page.transcript.view_of("a")
    assert view is not None
    assert view.body in seen


def contrast(one: str, two: str) -> float:
    def light(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lin = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_words_are_readable(tokens: Tokens) -> None:
    for front, backs in {
        "text": ("bg", "side", "panel", "user", "code", "accent_soft", "selection"),
        "muted": ("bg", "side", "panel", "code"),
        "accent": ("bg", "panel", "code", "accent_soft"),
        "on_accent": ("accent", "accent_hover"),
        "bad": ("panel", "bad_soft"),
        "warn": ("panel", "code", "warn_soft"),
        "pill_text": ("pill",),
    }.items():
        for back in backs:
            ratio = contrast(getattr(tokens, front), getattr(tokens, back))
            assert ratio >= 4.5, (front, back, ratio)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_nothing_is_cut_in_a_small_window(window: MainWindow, qtbot: QtBot, scale: float) -> None:
    page = window.chat.add_conversation(TabView(key="a", title="First", speculative=True))
    page.set_composer(ComposerView(spec=SpecChoice(available=True), attach=("image",)))
    window.set_header(READY)
    theme().apply(scale=scale)
    window.resize(800, 600)
    qtbot.wait(60)
    area = page.composer.rect()
    for control in (page.composer.attach, page.composer.spec, page.composer.send):
        corner = control.mapTo(page.composer, control.rect().bottomRight())
        assert area.contains(corner), control.text()
        assert control.width() >= control.sizeHint().width()
    assert window.width() <= 800
    theme().apply(scale=1.0)


@pytest.mark.parametrize("scale", [1.15, 1.5, 2.0])
def test_a_tab_grows_with_the_text(window: MainWindow, qtbot: QtBot, scale: float) -> None:
    window.chat.add_conversation(TabView(key="a", title="What is a whale?", speculative=False))
    bar = window.chat.tabs.bar
    tail = bar.tabButton(0, QTabBar.ButtonPosition.RightSide)
    assert isinstance(tail, QWidget)
    pill = next(w for w in tail.findChildren(QLabel) if w.text() == "spec off")
    theme().apply(scale=scale)
    try:
        qtbot.waitUntil(lambda: pill.width() >= pill.sizeHint().width() > 0)
        assert bar.tabRect(0).contains(tail.geometry())
    finally:
        theme().apply(scale=1.0)
