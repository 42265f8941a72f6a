"""Colours, type and spacing from tokens: palette, style sheet and icons of the program.

One `Theme` exists per process (`theme()`), owned by the main thread. `apply` may be called
at any time; widgets that paint or format text themselves follow `changed`. Everything else
follows the palette and the style sheet. Lengths are device independent pixels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

import resources


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one scheme, as `#RRGGBB`."""

    bg: str
    side: str
    panel: str
    line: str
    text: str
    muted: str
    accent: str
    accent_soft: str
    on_accent: str
    user: str
    code: str
    bad: str
    bad_soft: str
    warn: str
    warn_soft: str
    bar: str
    accent_hover: str
    pill: str
    pill_text: str
    selection: str
    faint: str
    """Words of what cannot be used now."""


LIGHT = Tokens(
    bg="#FCFCFB", side="#F4F4F1", panel="#FFFFFF", line="#E2E2DC", text="#1B1C1A",
    muted="#63645E", accent="#0B6E5B", accent_soft="#DDF0EA", on_accent="#FFFFFF",
    user="#EDF1EF", code="#F5F5F2", bad="#B3261E", bad_soft="#FBE9E7", warn="#8A5A00",
    warn_soft="#FBF0D9", bar="#8B8D86",
    accent_hover="#095C4C", pill="#E2E2DC", pill_text="#55564F", selection="#C4E4DA",
    faint="#83847D",
)  # fmt: skip
DARK = Tokens(
    bg="#171816", side="#1D1E1C", panel="#222321", line="#343632", text="#ECEDE8",
    muted="#A3A59D", accent="#5CC9AC", accent_soft="#1E3A33", on_accent="#0E1613",
    user="#262A28", code="#1B1C1A", bad="#F28B82", bad_soft="#3B2321", warn="#E3B55A",
    warn_soft="#36301F", bar="#6F726A",
    accent_hover="#78D6BC", pill="#343632", pill_text="#B4B6AE", selection="#2B5A4E",
    faint="#84877E",
)  # fmt: skip

MODES = ("system", "light", "dark")
DENSITIES = ("comfortable", "compact")
SCALES = (0.85, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
"""Steps of the text size (zoom)."""

COLUMN = 720
"""Width of the reading column; fixed, so that it stays readable in a wide window."""

_PX = re.compile(r"px\((\d+)\)px|px\((\d+)\)")
_TOKEN = re.compile(r"@([a-z_]+)")


class Theme(QObject):
    """The look in force. `changing` fires before palette, font and style sheet are set, `changed`
    after that."""

    changing = Signal()
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tokens = LIGHT
        self.mode = "system"
        self.scale = 1.0
        self.density = "comfortable"
        self.reduced_motion = False
        self.restyling = False
        """Between `changing` and `changed`: sizes are those of no style, for a moment."""
        self._base_family = ""
        self._mono = ""
        self._hooked = False

    @property
    def dark(self) -> bool:
        return self.tokens is DARK

    @property
    def turn_gap(self) -> int:
        """Pixels between turns."""
        return 18 if self.density == "comfortable" else 10

    @property
    def mono_family(self) -> str:
        if not self._mono:
            self._mono = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        return self._mono

    def px(self, value: float) -> int:
        """`value` scaled with the text size, at least 1."""
        return max(1, round(value * self.scale))

    def color(self, token: str) -> QColor:
        return QColor(str(getattr(self.tokens, token)))

    def font(self, size: int = 14, weight: int = 400, mono: bool = False) -> QFont:
        """A font of `size` px before scaling; tabular figures come with the system font."""
        font = QFont(self.mono_family if mono else QGuiApplication.font().family())
        font.setPixelSize(self.px(size))
        font.setWeight(QFont.Weight(weight))
        if mono:
            font.setStyleHint(QFont.StyleHint.Monospace)
        return font

    def apply(
        self,
        *,
        mode: str | None = None,
        scale: float | None = None,
        density: str | None = None,
        reduced_motion: bool | None = None,
    ) -> None:
        """Sets what is given, keeps the rest, and repaints every window. Main thread only."""
        self.mode = mode if mode in MODES else self.mode
        self.scale = min(2.5, max(0.7, scale)) if scale else self.scale
        self.density = density if density in DENSITIES else self.density
        self.reduced_motion = self.reduced_motion if reduced_motion is None else reduced_motion
        self._refresh()

    def _on_scheme_changed(self) -> None:
        if self.mode == "system":
            self._refresh()

    def _refresh(self) -> None:
        app = QApplication.instance()
        if not isinstance(app, QApplication):
            return
        if not self._hooked:
            self._hooked = True
            app.setStyle("Fusion")
            app.styleHints().colorSchemeChanged.connect(self._on_scheme_changed)
        system_dark = app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        dark = self.mode == "dark" or (self.mode == "system" and system_dark)
        self.tokens = DARK if dark else LIGHT
        self.restyling = True
        self.changing.emit()
        font = app.font()
        font.setPixelSize(self.px(14))
        app.setFont(font)
        app.setPalette(self._palette())
        self._restyle(app)
        app.setEffectEnabled(Qt.UIEffect.UI_AnimateCombo, not self.reduced_motion)
        app.setEffectEnabled(Qt.UIEffect.UI_AnimateMenu, False)
        self.restyling = False
        self.changed.emit()

    def _restyle(self, app: QApplication) -> None:
        """Sets the style sheet. Over another one Qt polishes every widget once for each of its
        ancestors (1 s with forty chats open); to none and then to the new one is once each."""
        text = self.style_sheet()
        if text != app.styleSheet():
            app.setStyleSheet("")
            app.setStyleSheet(text)

    def style_sheet(self) -> str:
        """The style sheet with every token and length filled in."""
        text = (resources.FOLDER / "styles" / "tandem.qss").read_text(encoding="utf-8")
        values = {f.name: str(getattr(self.tokens, f.name)) for f in fields(self.tokens)}
        folder = resources.FOLDER / "styles" / ("dark" if self.dark else "light")
        for name in ("down", "up", "check"):
            values[f"icon_{name}"] = (folder / f"{name}.svg").as_posix()
        size = self.px(14) // 2 * 2
        values["radio_size"] = f"{size}px"
        values["radio_radius"] = f"{size // 2 + 1}px"
        values["radio_inner"] = f"{size + 2 - 2 * self.px(4)}px"
        text = _PX.sub(lambda m: f"{self.px(int(m[1] or m[2]))}px", text)
        return _TOKEN.sub(lambda m: values[m[1]], text)

    def _palette(self) -> QPalette:
        role = QPalette.ColorRole
        palette = QPalette()
        for target, token in (
            (role.Window, "bg"), (role.WindowText, "text"), (role.Base, "panel"),
            (role.AlternateBase, "side"), (role.Text, "text"), (role.Button, "panel"),
            (role.ButtonText, "text"), (role.BrightText, "bad"), (role.Link, "accent"),
            (role.LinkVisited, "accent"), (role.Highlight, "selection"),
            (role.HighlightedText, "text"), (role.ToolTipBase, "panel"),
            (role.ToolTipText, "text"), (role.PlaceholderText, "muted"), (role.Light, "panel"),
            (role.Midlight, "line"), (role.Mid, "line"), (role.Dark, "bar"),
            (role.Accent, "accent"),
        ):  # fmt: skip
            palette.setColor(target, self.color(token))
        group = QPalette.ColorGroup.Disabled
        for target in (role.WindowText, role.Text, role.ButtonText):
            palette.setColor(group, target, self.color("muted"))
        return palette


def svg(name: str, color: str) -> str:
    """The source of an icon of ours in the given colour."""
    text = (resources.FOLDER / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return text.replace("currentColor", color)


_theme: Theme | None = None
_paper: Theme | None = None
_printing = False


def theme() -> Theme:
    """The one theme of this process; made on first use. Main thread only."""
    global _theme
    if _printing and _paper is not None:
        return _paper
    if _theme is None:
        _theme = Theme()
    return _theme


@contextmanager
def on_paper() -> Iterator[None]:
    """Within, `theme()` is the light one at its usual size: for what is printed. No events
    may be handled meanwhile."""
    global _paper, _printing
    if _paper is None:
        _paper = Theme()
    _printing = True
    try:
        yield
    finally:
        _printing = False
