"""A conversation as a printable document: print, or save as PDF.

Takes Markdown. Images and other addresses in it are not fetched, HTML is not interpreted.
Main thread; a PDF of a long conversation takes a moment, so callers show the wait cursor.
"""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QGuiApplication,
    QPageLayout,
    QPageSize,
    QPdfWriter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QDialog, QWidget

MARGIN_MM = 18.0
TEXT_PT = 10.5


class PrintDocument(QTextDocument):
    """Black text on white in the system font, whatever the theme; loads nothing."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        font = QFont(QGuiApplication.font().family())
        font.setPointSizeF(TEXT_PT)
        self.setDefaultFont(font)
        self.setUndoRedoEnabled(False)
        features = (
            QTextDocument.MarkdownFeature.MarkdownDialectGitHub
            | QTextDocument.MarkdownFeature.MarkdownNoHTML
        )
        cursor = QTextCursor(self)
        cursor.insertMarkdown(markdown, features)
        whole = QTextCursor(self)
        whole.select(QTextCursor.SelectionType.Document)
        black = QTextCharFormat()
        black.setForeground(QColor("black"))
        whole.mergeCharFormat(black)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None


def save_pdf(markdown: str, path: str, title: str) -> bool:
    """Writes a PDF on A4 (Letter where the locale uses it); False when it was not written."""
    try:
        with open(path, "wb"):
            pass
    except OSError:
        return False
    writer = QPdfWriter(path)
    writer.setTitle(title)
    writer.setCreator("Tandem")
    writer.setPageSize(QPageSize(page_size()))
    margins = QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM)
    writer.setPageMargins(margins, QPageLayout.Unit.Millimeter)
    writer.setResolution(300)
    document = PrintDocument(markdown)
    document.print_(writer)
    del writer
    try:
        with open(path, "rb") as file:
            return file.read(5) == b"%PDF-"
    except OSError:
        return False


def print_with_dialog(markdown: str, parent: QWidget) -> None:
    """Opens the system's print dialog without blocking; prints when it is accepted."""
    from PySide6.QtPrintSupport import QPrintDialog, QPrinter

    printer = QPrinter(QPrinter.PrinterMode.HighResolution)
    dialog = QPrintDialog(printer, parent)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.accepted.connect(lambda: PrintDocument(markdown).print_(printer))
    QDialog.open(dialog)


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
