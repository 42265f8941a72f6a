"""What the Models tab and its dialogs show. Plain frozen values, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from ui import format as fmt


@dataclass(frozen=True, slots=True)
class RowAction:
    """A button or menu entry of a row; `id` comes back in the signal with the row's key.
    A `reason` other than "" disables it and is its tooltip."""

    id: str
    label: str
    primary: bool = False
    reason: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRowView:
    """One card. `group` is "local" or "catalogue". `facts` are joined by dots; a `problem`
    stands in their place. `progress` is a share, None without a bar, -1 for an unknown end.

    `size`, `used` (Unix time), `speedup` and `abilities` are for sorting and filtering.
    """

    key: str
    group: str
    name: str
    path: str = ""
    badges: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    problem: str = ""
    problem_level: str = ""
    progress: float | None = None
    progress_text: str = ""
    progress_level: str = ""
    actions: tuple[RowAction, ...] = ()
    menu: tuple[RowAction, ...] = ()
    size: int = 0
    used: float = 0.0
    speedup: float | None = None
    abilities: frozenset[str] = frozenset()
    order: int = 0

    @property
    def line(self) -> str:
        return self.problem or fmt.DOT.join(f for f in self.facts if f)

    @property
    def spoken(self) -> str:
        """The whole card in words, for screen readers."""
        parts = (self.name, ", ".join(self.badges), self.line, self.progress_text)
        return ". ".join(p for p in parts if p)

    def matches(self, text: str) -> bool:
        hay = " ".join((self.name, self.path, *self.badges, self.line)).casefold()
        return all(word in hay for word in text.casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsView:
    """The whole tab. `scanning` is true until the first look at the disk is done."""

    rows: tuple[ModelRowView, ...] = ()
    scanning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailsView:
    """Everything about one model. `groups` are (title, ((label, value), …))."""

    key: str
    name: str
    badges: tuple[str, ...] = ()
    line: str = ""
    groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    sections: tuple[tuple[str, str, str], ...] = ()
    template: str = ""
    checksum: str = ""
    checksum_busy: bool = False
    can_checksum: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFileView:
    """A file of a repository. `state` is shown instead of the button when not empty."""

    file: str
    size: str
    fit: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRowView:
    """The cache of one model. `note` says e.g. that it is in use (and cannot be cleared)."""

    key: str
    name: str
    size: str
    note: str = ""
    clearable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageView:
    """The storage dialog. `mode` is disk, memory, no or folder; sizes are texts."""

    own_folder: str = ""
    folders: tuple[str, ...] = ()
    mode: str = "disk"
    modes: tuple[str, ...] = ("disk", "memory", "no", "folder")
    cache_folder: str = ""
    cap_gb: int = 0
    total: str = ""
    rows: tuple[CacheRowView, ...] = ()
    note: str = ""
