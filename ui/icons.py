"""Icons as `QIcon`, recoloured from the theme and sharp on every screen.

Icons are drawn at one, two and three times their size, so fractional scale factors pick a
larger one. The cache is keyed by name, colour and size; a theme change asks for new ones. Those of
an earlier look stay (the next change may be back to it) as long as there are not too many.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import resources
from ui.theme import svg, theme

MOST = 300
"""Icons kept, a few MB: those of light and dark at three or four text sizes."""

_cache: dict[tuple[str, str, int], QIcon] = {}


def pixmap(source: str, size: int, ratio: float) -> QPixmap:
    """SVG text drawn into a square of `size` px at the given device pixel ratio."""
    image = QPixmap(round(size * ratio), round(size * ratio))
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer = QSvgRenderer(QByteArray(source.encode()))
    renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
    painter.end()
    image.setDevicePixelRatio(ratio)
    return image


def icon(name: str, tint: str = "muted", size: int = 16) -> QIcon:
    """The icon `name` in a token's colour; `size` px before text scaling."""
    look = theme()
    color = look.color(tint).name()
    key = (name, color, look.px(size))
    found = _cache.get(key)
    if found is None:
        if len(_cache) >= MOST:
            _cache.clear()
        found = QIcon()
        for ratio in (1.0, 2.0, 3.0):
            found.addPixmap(pixmap(svg(name, color), key[2], ratio))
        _cache[key] = found
    return found


def app_icon() -> QIcon:
    """The program's icon at the sizes window managers ask for."""
    source = (resources.FOLDER / "icons" / "app.svg").read_text(encoding="utf-8")
    out = QIcon()
    for size in (16, 32, 64, 128):
        out.addPixmap(pixmap(source, size, 1.0))
    return out
