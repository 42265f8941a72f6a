"""What we remember of models besides the files themselves: `library.json`.

Which single files were opened, where downloaded ones came from, when each was last used.
Belongs to the main thread; the file is small and written on a helper thread.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

MAX_OPENED = 50


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a downloaded file came from: enough to fetch it again."""

    key: str
    url: str
    page: str = ""
    sha256: str = ""


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """Immutable; the methods return a changed copy."""

    format: int = 1
    opened: tuple[str, ...] = ()
    origins: dict[str, Origin] = {}
    used: dict[str, float] = {}

    def with_opened(self, path: str) -> Records:
        rest = tuple(p for p in self.opened if p != path)
        return msgspec.structs.replace(self, opened=(path, *rest)[:MAX_OPENED])

    def without_opened(self, path: str) -> Records:
        return msgspec.structs.replace(self, opened=tuple(p for p in self.opened if p != path))

    def with_origin(self, path: str, origin: Origin) -> Records:
        return msgspec.structs.replace(self, origins={**self.origins, path: origin})

    def with_use(self, path: str, when: float) -> Records:
        return msgspec.structs.replace(self, used={**self.used, path: when})


def read(file: Path) -> Records:
    """A missing or damaged file counts as empty: nothing in it is precious."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Records)
    except (OSError, msgspec.MsgspecError):
        return Records()
    return found if found.format == 1 else Records()


def write(file: Path, records: Records) -> None:
    """Atomic. Raises `OSError`."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        temporary.write_bytes(msgspec.json.encode(records))
        os.replace(temporary, file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
