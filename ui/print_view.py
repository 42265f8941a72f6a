"""A conversation on paper: printed by the system's dialog, or saved as a PDF.

It looks as on the screen in light colours, with its code wrapped. Images and other addresses
in it are not fetched, HTML is not interpreted. Main thread; the work goes on in small steps,
so that the window lives meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QMarginsF, QObject, QTimer, QUrl
from PySide6.QtGui import (
    QPagedPaintDevice,
    QPageLayout,
    QPageSize,
    QPdfWriter,
    QTextDocument,
)
from PySide6.QtWidgets import QDialog, QWidget

from ui.format import clean_text
from ui.markdown_source import PartSource
from ui.markdown_stream import MarkdownStream
from ui.page_flow import PageFlow
from ui.theme import on_paper, theme
from ui.views import PrintPart

MARGIN_MM = 18.0
PART = 6 * 1024
STEP_S = 0.012
"""What one step may spend before the event loop has its turn."""


class PrintDocument(QTextDocument):
    """Loads nothing, whatever stands in it."""

    def __init__(self) -> None:
        super().__init__()
        self.setUndoRedoEnabled(False)
        self.setUseDesignMetrics(True)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None


class PrintJob:
    """Draws parts on a device, `step` by `step`."""

    def __init__(
        self, parts: Sequence[PrintPart], device: QPagedPaintDevice, copies: int = 1
    ) -> None:
        self._flow: PageFlow | None = PageFlow(device)
        self.done = False
        """All of it was drawn and taken."""
        self._work = self._draw(parts, copies)

    def step(self) -> bool:
        """Draws for about `STEP_S`; True while there is more."""
        until = time.perf_counter() + STEP_S
        with on_paper():
            for _ in self._work:
                if time.perf_counter() > until:
                    return True
            if self._flow is not None:
                self.done = self._flow.end()
                self._flow = None  # lets go of the device
        return False

    def _draw(self, parts: Sequence[PrintPart], copies: int) -> Iterator[None]:
        flow = self._flow
        if flow is None or not flow.fine:
            return
        for number in range(copies):
            if number:
                flow.again()
            for part in parts:
                flow.space(theme().px(8))
                if part.kind == "markdown":
                    yield from self._markdown(flow, part.text)
                else:
                    flow.add(_plain(part, flow.width), [])
                    yield

    def _markdown(self, flow: PageFlow, text: str) -> Iterator[None]:
        source = PartSource(PART)
        source.append(text)
        source.finish()
        while True:
            document = PrintDocument()
            stream = MarkdownStream(document, source, wrap_code=True)
            while stream.step(STEP_S / 2) and not stream.full:
                yield
            rest = stream.hand_over() if stream.full else None
            while stream.step(STEP_S / 2):  # colours of its code
                yield
            document.setTextWidth(flow.width)
            flow.add(document, stream.regions)
            yield
            if rest is None:
                return
            source = PartSource(PART, rest)


def _plain(part: PrintPart, width: float) -> PrintDocument:
    document = PrintDocument()
    document.setDocumentMargin(0)
    title = part.kind == "title"
    document.setDefaultFont(theme().font(24, 600) if title else theme().font(14))
    document.setPlainText(clean_text(part.text))
    document.setTextWidth(width)
    return document


class PdfFile:
    """A PDF of A4 pages (Letter where the locale uses it); `step` until it is done."""

    def __init__(self, parts: Sequence[PrintPart], path: str, title: str) -> None:
        self._path = path
        self._job: PrintJob | None = None
        self._problem = ""
        try:
            with open(path, "wb"):
                pass
        except OSError as problem:
            self._problem = problem.strerror or str(problem)
            return
        self._writer = QPdfWriter(path)
        self._writer.setTitle(title)
        self._writer.setCreator("Tandem")
        self._writer.setPageSize(QPageSize(page_size()))
        self._writer.setPageMargins(_margins(), QPageLayout.Unit.Millimeter)
        self._writer.setResolution(300)
        self._job = PrintJob(parts, self._writer)

    def step(self) -> bool:
        """True while there is more to be written."""
        return self._job is not None and self._job.step()

    def problem(self) -> str:
        """What went wrong, once no step is left; "" when the file is there and whole."""
        if self._job is None:
            return self._problem
        done = self._job.done
        del self._writer
        try:
            with open(self._path, "rb") as file:
                whole = done and file.read(5) == b"%PDF-"
        except OSError as problem:
            return problem.strerror or str(problem)
        return "" if whole else "it was not written to its end"


async def save_pdf(parts: Sequence[PrintPart], path: str, title: str) -> str:
    """Writes a PDF while the event loop goes on; says what went wrong, "" when nothing did."""
    file = PdfFile(parts, path, title)
    for _ in iter(file.step, False):
        await asyncio.sleep(0)
    return file.problem()


class _Printing(QObject):
    """Prints in the background of its window."""

    def __init__(
        self,
        job: PrintJob,
        device: QPagedPaintDevice,
        parent: QWidget,
        failed: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        self._job, self._device, self._failed = job, device, failed
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start(0)

    def _on_timeout(self) -> None:
        if not self._job.step():
            self._timer.stop()
            if not self._job.done:
                self._failed()
            self.deleteLater()


def print_with_dialog(
    parts: Sequence[PrintPart], parent: QWidget, failed: Callable[[], None]
) -> None:
    """Opens the system's print dialog without blocking; prints when it is accepted, and calls
    `failed` when the printer did not take it."""
    from PySide6.QtPrintSupport import QPrintDialog, QPrinter

    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    printer.setPageSize(QPageSize(page_size()))
    printer.setPageMargins(_margins(), QPageLayout.Unit.Millimeter)
    printer.setCreator("Tandem")
    name = next((p.text for p in parts if p.kind == "title"), "Tandem")
    printer.setDocName(name.replace("/", " ").replace("\\", " "))  # also the name of a file
    dialog = QPrintDialog(printer, parent)

    def start() -> None:
        copies = 1 if printer.supportsMultipleCopies() else printer.copyCount()
        _Printing(PrintJob(parts, printer, copies), printer, parent, failed)

    dialog.accepted.connect(start)
    dialog.finished.connect(dialog.deleteLater)
    QDialog.open(dialog)


def _margins() -> QMarginsF:
    return QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM)


def page_size() -> QPageSize.PageSizeId:
    """Letter in the few places that use it, A4 everywhere else."""
    from PySide6.QtCore import QLocale

    letter = {
        QLocale.Country.UnitedStates,
        QLocale.Country.Canada,
        QLocale.Country.Mexico,
        QLocale.Country.Philippines,
    }
    here = QLocale.system().territory()
    return QPageSize.PageSizeId.Letter if here in letter else QPageSize.PageSizeId.A4
