"""What keeps this run to itself: files for this user only, no credentials for children.

`begin` is called once at the start of a process, before anything is written or started.
Standard library only; idempotent.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_CREDENTIAL = re.compile(
    r"(^|_)(TOKEN|PAT|API_?KEY|ACCESS_KEY(_ID)?|PRIVATE_KEY|SECRET(_KEY)?|PASSWORD|PASSWD)$", re.I
)
_NEEDED = re.compile(r"^(XDG_ACTIVATION_TOKEN|TANDEM_.*|KEYRING_.*)$", re.I)
"""Names that look like it and are needed: the desktop's focus token, the keyring's own."""


def begin() -> None:
    """From now on new files are 0600 and folders 0700 (also those the engine, SQLite and tool
    servers make), and no child gets a token of the shell Tandem was started from."""
    os.umask(0o077)
    for name in credentials(os.environ):
        del os.environ[name]


def credentials(names: Iterable[str]) -> list[str]:
    """The names among `names` that stand for a token, key or password."""
    return [n for n in names if _CREDENTIAL.search(n) and not _NEEDED.match(n)]
