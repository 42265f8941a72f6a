"""The settings dialog: sections on the left, a search over all of them.

Changes act at once (no OK): `changed(name, value)` carries the name of a setting and its
new value; a bad number is said beside its field and not emitted. Sizes arrive later through
`set_sizes`. Main thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ui import format as fmt
from ui import shortcuts_page, strings
from ui import strings_history as words
from ui.controls import button, label
from ui.dialog_size import open_at, room
from ui.number_field import NumberField
from ui.setting_rows import PlaceRow, Section, SettingRow
from ui.theme import SCALES, theme

BASE_TEXT = 14
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsView:
    """Values as stored. `places` are (key, path) of what lies where; keys of `words.PLACES`."""

    theme: str = "system"
    text_size: int = BASE_TEXT
    density: str = "comfortable"
    reduced_motion: bool = False
    enter_sends: bool = True
    show_footer: bool = True
    presets: tuple[str, ...] = ()
    default_preset: str = ""
    load_at_start: bool = True
    context_tokens: int = 0
    threads: int = 0
    cache: str = "disk"
    gpu_float16: bool = False
    places: Mapping[str, str] = field(default_factory=dict)


class SettingsDialog(QDialog):
    """`show_section(key)` opens at one: appearance, chat, engine, storage, shortcuts, privacy."""

    changed = Signal(str, object)
    open_folder_requested = Signal(str)
    clear_requested = Signal(str)
    manage_requested = Signal(str)

    def __init__(self, parent: QWidget | None, view: SettingsView) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.SETTINGS)
        self.setModal(False)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.places: dict[str, PlaceRow] = {}
        self.search = QLineEdit()
        self.search.setPlaceholderText(words.SEARCH_SETTINGS)
        self.search.setAccessibleName(words.SEARCH_SETTINGS)
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(lambda _="": self._refresh())
        self.nav = QListWidget()
        self.nav.setAccessibleName(words.SETTINGS)
        self.nav.setFixedWidth(min(theme().px(150), round(room(self).width() * 0.29)))
        self.nav.setProperty("kind", "nav")
        self.sections = [
            self._appearance(view),
            self._chat(view),
            self._engine(view),
            self._storage(view),
            self._shortcuts(),
            self._privacy(view),
        ]
        for section in self.sections:
            self.nav.addItem(section.title)
        self.none = label("", "muted", wrap=True)
        self._lay_out()
        self.nav.currentRowChanged.connect(lambda _=0: self._refresh())
        self.nav.setCurrentRow(0)
        self.search.setFocus()
        open_at(self, 760, 560)

    def _lay_out(self) -> None:
        content = QWidget()
        body = QVBoxLayout(content)
        body.setContentsMargins(20, 8, 20, 16)
        body.setSpacing(8)
        for section in self.sections:
            body.addWidget(section)
        body.addWidget(self.none)
        body.addStretch(1)
        area = QScrollArea()
        area.setProperty("kind", "reading")
        area.setAccessibleName(words.SETTINGS)
        area.setWidget(content)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.nav)
        middle.addWidget(area, 1)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(button(strings.CLOSE, "", lambda: self.done(0)))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(16, 16, 16, 14)
        outer.setSpacing(12)
        outer.addWidget(self.search)
        outer.addLayout(middle, 1)
        outer.addLayout(foot)

    def show_section(self, key: str) -> None:
        for row, section in enumerate(self.sections):
            if section.key == key:
                self.search.clear()
                self.nav.setCurrentRow(row)

    def set_sizes(self, sizes: Mapping[str, int | None]) -> None:
        """Bytes per place; None is shown as unknown."""
        for key, size in sizes.items():
            if key in self.places:
                self.places[key].set_size(size)

    def _refresh(self) -> None:
        query = self.search.text().strip()
        found = False
        for row, section in enumerate(self.sections):
            hit = section.filter(query)
            shown = hit if query else row == self.nav.currentRow()
            section.setVisible(shown)
            found = found or shown
        self.none.setText("" if found else words.NO_SETTING.format(query=query))
        self.none.setVisible(not found)

    # -- sections --------------------------------------------------------------------

    def _appearance(self, view: SettingsView) -> Section:
        section = Section("appearance", words.S_APPEARANCE)
        section.add(
            SettingRow(
                words.THEME, self._combo("theme", words.THEMES, view.theme), "", "theme dark colors"
            )
        )
        sizes = {round(BASE_TEXT * s): f"{round(s * 100)} %" for s in SCALES}
        sizes.setdefault(view.text_size, f"{round(view.text_size / BASE_TEXT * 100)} %")
        section.add(
            SettingRow(
                words.TEXT_SIZE,
                self._combo("text_size", dict(sorted(sizes.items())), view.text_size),
                "",
                "zoom font scale",
            )
        )
        section.add(
            SettingRow(words.DENSITY, self._combo("density", words.DENSITIES, view.density))
        )
        section.add(
            SettingRow(
                words.REDUCED_MOTION,
                self._check("reduced_motion", view.reduced_motion),
                words.REDUCED_MOTION_TEXT,
                "animation accessibility",
            )
        )
        return section

    def _chat(self, view: SettingsView) -> Section:
        section = Section("chat", words.S_CHAT)
        section.add(
            SettingRow(
                words.ENTER_KEY,
                self._combo("enter_sends", words.ENTER_KEYS, view.enter_sends),
                words.ENTER_KEY_TEXT,
                "enter ctrl key send newline shortcut",
            )
        )
        section.add(
            SettingRow(
                words.FOOTER,
                self._check("show_footer", view.show_footer),
                words.FOOTER_TEXT,
                "tok/s ttft statistics speed metrics",
            )
        )
        names = {"": words.PRESET_NONE, **{p: p for p in view.presets}}
        section.add(
            SettingRow(
                words.DEFAULT_PRESET,
                self._combo("default_preset", names, view.default_preset),
                "",
                "preset system prompt",
            )
        )
        return section

    def _engine(self, view: SettingsView) -> Section:
        section = Section("engine", words.S_ENGINE)
        section.add(
            SettingRow(
                words.LOAD_AT_START,
                self._check("load_at_start", view.load_at_start),
                words.LOAD_AT_START_TEXT,
            )
        )
        context = NumberField(
            words.DEFAULT_CONTEXT,
            256,
            1_048_576,
            whole=True,
            optional=True,
            placeholder=words.CONTEXT_DEFAULT,
        )
        context.set_value(view.context_tokens or None)
        context.edited.connect(
            lambda: self.changed.emit("context_tokens", context.whole_value or 0)
        )
        threads = NumberField(
            words.DEFAULT_THREADS,
            1,
            256,
            whole=True,
            optional=True,
            placeholder=strings.THREADS_AUTO,
        )
        threads.set_value(view.threads or None)
        threads.edited.connect(lambda: self.changed.emit("threads", threads.whole_value or 0))
        for number, name in ((context, words.DEFAULT_CONTEXT), (threads, words.DEFAULT_THREADS)):
            number.name.hide()
            section.add(SettingRow(name, number, "", "tokens memory cpu"))
        caches = dict(strings.CACHE_CHOICES)
        caches.setdefault(view.cache, view.cache)
        section.add(
            SettingRow(strings.CACHE, self._combo("cache", caches, view.cache), words.CACHE_TEXT)
        )
        section.add(
            SettingRow(
                words.FLOAT16,
                self._check("gpu_float16", view.gpu_float16),
                words.FLOAT16_TEXT,
                "float16 precision",
            )
        )
        return section

    def _storage(self, view: SettingsView) -> Section:
        section = Section("storage", words.S_STORAGE)
        for key, path in view.places.items():
            row = PlaceRow(key, path, words.PLACE_TEXTS[key], clearable=key == "cache")
            row.open.clicked.connect(lambda _=False, k=key: self.open_folder_requested.emit(k))
            row.clear.clicked.connect(lambda _=False, k=key: self.clear_requested.emit(k))
            self.places[key] = row
            section.add(row)
        return section

    def _shortcuts(self) -> Section:
        section = Section("shortcuts", words.S_SHORTCUTS)
        shortcuts_page.fill(section)
        return section

    def _privacy(self, view: SettingsView) -> Section:
        section = Section("privacy", words.S_PRIVACY)
        section.add(SettingRow(strings.PRIVACY_LINE, None, words.PRIVACY_TEXT, "network telemetry"))
        for key, (name, text, also) in words.MANAGED.items():
            section.add(SettingRow(name, self._manage(key), text, also))
        for key, path in view.places.items():
            text = f"{words.PLACE_TEXTS[key]}\n{path}"
            section.add(SettingRow(words.PLACES[key], None, text, words.PRIVACY_WHERE))
        return section

    def _manage(self, key: str) -> QPushButton:
        """Opens a dialog that belongs to another part of the window."""
        return button(words.MANAGE, "", lambda: self.manage_requested.emit(key))

    def _combo(self, name: str, choices: Mapping[K, str], value: K) -> QComboBox:
        box = QComboBox()
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        longest = max((len(text) for text in choices.values()), default=0)
        box.setMinimumContentsLength(min(18, longest))
        for key, text in choices.items():
            box.addItem(text, key)
        keys = list(choices)
        box.setCurrentIndex(keys.index(value) if value in keys else 0)
        box.activated.connect(lambda row: self.changed.emit(name, keys[row]))
        box.currentTextChanged.connect(lambda text: box.setToolTip(fmt.tip(text)))
        box.setToolTip(fmt.tip(box.currentText()))
        return box

    def _check(self, name: str, value: bool) -> QCheckBox:
        box = QCheckBox()
        box.setChecked(value)
        box.toggled.connect(lambda on: self.changed.emit(name, on))
        return box
