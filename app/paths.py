"""Where Tandem keeps its files.

One call to `resolve` at start gives a `Paths`; everything else takes it as a value.
`TANDEM_HOME` puts everything below one folder (portable use, tests). Folders are made
user-only (0700). Without a usable home the files go to a temporary folder and `note` says
so: the program still works, but nothing outlives it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from app.version import APP_ID
from engine.types import LIBRARY_VERSION


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of this run. `temporary` means they vanish with the program. `cache` and
    `logs` may be missing or read-only: the program works without them."""

    config: Path
    data: Path
    cache: Path
    logs: Path
    temporary: bool = False
    note: str = ""

    @property
    def settings_file(self) -> Path:
        return self.config / "settings.json"

    @property
    def history_file(self) -> Path:
        return self.data / "history.sqlite3"

    @property
    def attachments(self) -> Path:
        return self.data / "attachments"

    @property
    def benchmark_file(self) -> Path:
        return self.data / "benchmarks.sqlite3"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def engine_cache_root(self) -> Path:
        """Parent of all engine caches, one folder per library version below it."""
        return self.cache / "engine"

    @property
    def app_log(self) -> Path:
        return self.logs / "app.log"

    @property
    def engine_log(self) -> Path:
        return self.logs / "engine.log"

    @property
    def crash_log(self) -> Path:
        return self.logs / "crash.log"

    @property
    def runtime(self) -> Path:
        """For lock and socket names; beside the configuration, so one per home."""
        return self.config

    def engine_cache(self, model_path: str) -> Path:
        """Cache folder of one model file; the engine names the files inside it."""
        return self.engine_cache_root / LIBRARY_VERSION / model_key(model_path)


def model_key(model_path: str) -> str:
    """A folder name for a model: readable stem plus a hash of the absolute path."""
    path = Path(model_path).absolute()
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in path.stem)[:40]
    digest = hashlib.sha256(os.fsencode(str(path))).hexdigest()[:12]
    return f"{stem}-{digest}"


def private_folder(path: Path) -> Path:
    """Creates `path` (and parents) for this user only. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            path.chmod(0o700)
    return path


def resolve(environ: dict[str, str] | None = None) -> Paths:
    """The folders of this run, created. Never raises: falls back to a temporary folder."""
    env = dict(os.environ) if environ is None else environ
    try:
        return _make(_wanted(env))
    except (OSError, RuntimeError) as problem:
        base = Path(tempfile.mkdtemp(prefix="tandem-"))
        return _make(_below(base, temporary=True, note=_words(problem)))


def _words(problem: OSError | RuntimeError) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    return str(problem)


def _wanted(env: dict[str, str]) -> Paths:
    home = env.get("TANDEM_HOME")
    if home:
        return _below(Path(home).expanduser().absolute())
    dirs = platformdirs.PlatformDirs(APP_ID, appauthor=False, roaming=False)
    paths = Paths(
        config=Path(dirs.user_config_dir),
        data=Path(dirs.user_data_dir),
        cache=Path(dirs.user_cache_dir),
        logs=Path(dirs.user_log_dir),
    )
    if not all(p.is_absolute() for p in (paths.config, paths.data, paths.cache, paths.logs)):
        raise RuntimeError("no home folder")
    return paths


def _below(base: Path, *, temporary: bool = False, note: str = "") -> Paths:
    return Paths(
        config=base / "config",
        data=base / "data",
        cache=base / "cache",
        logs=base / "logs",
        temporary=temporary,
        note=note,
    )


def _make(paths: Paths) -> Paths:
    for folder in (paths.cache, paths.logs):
        with contextlib.suppress(OSError):
            private_folder(folder)
    for folder in (paths.config, paths.data):
        private_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder} cannot be written")
    return paths
