"""A conversation on paper: nothing is cut, lost or fetched, and pages end between lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMarginsF, QSizeF
from PySide6.QtGui import QPageLayout, QPageRanges, QPageSize, QPdfWriter, QTextDocument
from PySide6.QtPrintSupport import QPrintDialog, QPrinter
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.qtbot import QtBot

from app.conversation import Conversation, Node, Role
from app.export_markdown import print_parts
from ui import print_view
from ui.markdown_stream import MarkdownStream
from ui.page_flow import PageFlow, line_ends
from ui.print_view import PrintDocument
from ui.theme import DARK, LIGHT, on_paper, theme
from ui.views import PrintPart

CODE = "```python\nx = '" + "0123456789 " * 30 + "'\n```\n"


@pytest.fixture
def dark() -> Iterator[None]:
    theme().apply(mode="dark", scale=1.5)
    yield
    theme().apply(mode="system", scale=1.0)


class Pages(PageFlow):
    """Notes what is drawn: (page, from, to) in the document."""

    def __init__(self, device: QPdfWriter) -> None:
        super().__init__(device)
        self.slices: list[tuple[int, float, float]] = []

    def _draw(self, document: QTextDocument, regions: list, begin: float, end: float) -> None:  # type: ignore[type-arg]
        super()._draw(document, regions, begin, end)
        assert self._y + end - begin <= self._height + 1
        self.slices.append((self._page, begin, end))


def pages(tmp_path: Path) -> Pages:
    device = QPdfWriter(str(tmp_path / "flow.pdf"))
    device.setPageSize(QPageSize(QSizeF(120, 100), QPageSize.Unit.Millimeter))
    device.setPageMargins(QMarginsF(10, 10, 10, 10), QPageLayout.Unit.Millimeter)
    device.setResolution(150)
    made = Pages(device)
    made.keep = device  # type: ignore[attr-defined]
    return made


def written(text: str, width: float) -> tuple[PrintDocument, MarkdownStream]:
    document = PrintDocument()
    stream = MarkdownStream(document, wrap_code=True)
    stream.reset(text)
    stream.run()
    document.setTextWidth(width)
    assert document.size().height() > 0  # lays it out
    return document, stream


def save(parts: list[PrintPart], path: Path) -> str:
    return asyncio.run(print_view.save_pdf(parts, str(path), "Title"))


def test_a_pdf_is_written_and_fetches_nothing(qtbot: QtBot, tmp_path: Path) -> None:
    text = "**You**\n\n![x](file:///etc/passwd) ![y](http://127.0.0.1:9/a.png)\n\n" * 30
    parts = [PrintPart("Title", "title"), PrintPart(text)]
    assert save(parts, tmp_path / "out.pdf") == ""
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")
    assert save(parts, tmp_path / "no" / "out.pdf") == "No such file or directory"


def test_a_page_ends_between_lines_and_everything_is_drawn_once(
    qtbot: QtBot, tmp_path: Path
) -> None:
    rows = "".join(f"| {n} | cell |\n" for n in range(40))
    text = (
        f"Words. {'more ' * 400}\n\n{CODE * 3}\n\n| a | b |\n| - | - |\n{rows}\n\n## End\n\nlast\n"
    )
    with on_paper():
        flow = pages(tmp_path)
        document, stream = written(text, flow.width)
        flow.add(document, stream.regions)
        assert flow.end()
    ends = line_ends(document)
    begins, stops = [s[1] for s in flow.slices], [s[2] for s in flow.slices]
    assert begins == [0.0, *stops[:-1]]
    assert stops[-1] == pytest.approx(document.size().height())
    assert set(stops[:-1]) <= set(ends)
    assert [s[0] for s in flow.slices] == list(range(1, len(flow.slices) + 1))
    assert len(flow.slices) > 4


def test_only_the_pages_asked_for_are_drawn(qtbot: QtBot, tmp_path: Path) -> None:
    def sheets(ranges: str, copies: int = 1) -> int:
        device = QPdfWriter(str(tmp_path / "some.pdf"))
        device.setPageRanges(QPageRanges.fromString(ranges))
        job = print_view.PrintJob([PrintPart("Some words.\n\n" * 300)], device, copies)
        while job.step():
            pass
        assert job.done
        del device
        return (tmp_path / "some.pdf").read_bytes().count(b"/Type /Page\n")

    whole = sheets("")
    assert whole > 5
    assert sheets("2-3,5") == 3
    assert sheets("", copies=2) == 2 * whole
    assert sheets("1", copies=3) == 3


def test_a_page_does_not_end_after_a_heading(qtbot: QtBot) -> None:
    document, _ = written("# One\n\ntext\n\n## Two\n\ntext", 400)
    layout, ends = document.documentLayout(), line_ends(document)
    block = document.begin()
    while block.isValid():
        bottom = layout.blockBoundingRect(block).bottom()
        assert (bottom in ends) is not bool(block.blockFormat().headingLevel())
        block = block.next()


def test_code_is_wrapped_on_paper(qtbot: QtBot) -> None:
    document, stream = written(CODE, 400)
    block = document.findBlock(stream.regions[0].start)
    lines = block.layout()
    assert lines.lineCount() > 3
    assert all(lines.lineAt(n).naturalTextWidth() <= 400 for n in range(lines.lineCount()))


def test_paper_is_light_whatever_the_window_is(dark: None, qtbot: QtBot) -> None:
    assert theme().tokens is DARK
    with on_paper():
        assert theme().tokens is LIGHT
        assert theme().px(10) == 10
    assert theme().tokens is DARK
    assert theme().px(10) == 15


def test_what_a_person_wrote_is_printed_as_it_was_typed(qtbot: QtBot) -> None:
    chat = Conversation.new()
    mine = Node(id="u", parent=None, role=Role.USER, text="one **two**\nthree\n    four")
    chat.add(mine)
    chat.add(Node(id="a", parent="u", role=Role.ASSISTANT, text="**bold**"))
    parts = print_parts(chat)
    assert parts[0].kind == "title"
    assert PrintPart("one **two**\nthree\n    four", "plain") in parts
    assert PrintPart("**bold**") in parts


def test_a_long_conversation_is_printed_in_steps(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(print_view, "STEP_S", 0.0)
    text = "".join(f"Paragraph {n} with *some* words.\n\n{CODE}\n" for n in range(60))
    file = print_view.PdfFile([PrintPart(text)], str(tmp_path / "long.pdf"), "T")
    steps = sum(1 for _ in iter(file.step, False))
    assert steps > 10
    assert file.problem() == ""


def test_the_dialog_prints_when_it_is_accepted(qtbot: QtBot, tmp_path: Path) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    parts = [PrintPart("Title/1", "title"), PrintPart("Some words.\n\n" * 20)]
    failures: list[bool] = []
    print_view.print_with_dialog(parts, window, lambda: failures.append(True))
    (dialog,) = window.findChildren(QPrintDialog)
    target = tmp_path / "printed.pdf"
    printer = dialog.printer()
    assert printer.docName() == "Title 1"
    printer.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
    printer.setOutputFileName(str(target))
    QDialog.done(dialog, QDialog.DialogCode.Accepted.value)
    dialog.accepted.emit(printer)
    qtbot.waitUntil(lambda: target.exists() and b"%%EOF" in target.read_bytes(), timeout=20_000)
    qtbot.waitUntil(lambda: not window.findChildren(print_view._Printing))
    assert failures == []
