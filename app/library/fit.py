"""Will a model run on this machine? Judged from memory and disk, before a download.

The catalogue names the memory a model is comfortable with. Below that it still runs while
its file and the working memory fit, since weights are mapped from disk, only slower.
"""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path

import msgspec
import psutil

_WORKING_SHARE = 0.35
"""Memory beside the weights (KV cache, activations), as a share of the file size."""

CACHE_SHARE = 1.0
"""Engine cache a first load writes, as a share of the file: can be as large as the model."""


_UNKNOWN_DISK = 1 << 62


class Fit(StrEnum):
    FITS = "fits"
    SLOW = "slow"
    WONT_FIT = "wont_fit"
    NO_DISK = "no_disk"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What there is, in bytes. `disk_free` is on the volume of the models folder."""

    memory_total: int
    memory_available: int
    disk_free: int


def this_machine(folder: Path) -> Machine:
    """Asks the system; takes a millisecond or so, may wait on a network drive. A disk that
    cannot be asked is taken as empty: writing will tell."""
    memory = psutil.virtual_memory()
    try:
        free = free_bytes(folder)
    except OSError:
        free = _UNKNOWN_DISK
    return Machine(memory_total=memory.total, memory_available=memory.available, disk_free=free)


def free_bytes(folder: Path) -> int:
    """Free bytes on the volume of `folder`, which need not exist yet."""
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def judge(file_bytes: int, machine: Machine, min_memory: int | None = None) -> Fit:
    """Memory alone: the verdict for a file that is already here."""
    working = int(file_bytes * (1 + _WORKING_SHARE))
    if machine.memory_total < working:
        return Fit.WONT_FIT
    # "8 GB" machines report a little less than 8·10⁹ after firmware and graphics took theirs.
    if min_memory is not None and machine.memory_total < min_memory * 0.92:
        return Fit.SLOW
    if min_memory is None and machine.memory_available < working:
        return Fit.SLOW
    return Fit.FITS


def judge_download(file_bytes: int, machine: Machine, min_memory: int | None = None) -> Fit:
    """Memory and disk: the verdict for a model still to be fetched."""
    verdict = judge(file_bytes, machine, min_memory)
    if verdict is not Fit.WONT_FIT and machine.disk_free < file_bytes:
        return Fit.NO_DISK
    return verdict


class DiskNeed(msgspec.Struct, frozen=True, kw_only=True):
    """The two numbers of the preflight, and what there is (bytes).

    `cache_free` differs from `free` only when the engine cache lies on another volume.
    """

    file_bytes: int
    cache_bytes: int
    free: int
    cache_free: int
    same_volume: bool

    @property
    def fits(self) -> bool:
        if self.same_volume:
            return self.free >= self.file_bytes + self.cache_bytes
        return self.free >= self.file_bytes and self.cache_free >= self.cache_bytes

    @property
    def file_fits(self) -> bool:
        return self.free >= self.file_bytes


def disk_need(
    target_folder: Path, cache_folder: Path, total_bytes: int, already_here: int = 0
) -> DiskNeed:
    """What a download still needs on disk: the rest of the file and the engine cache."""
    return DiskNeed(
        file_bytes=max(0, total_bytes - already_here),
        cache_bytes=int(total_bytes * CACHE_SHARE),
        free=free_bytes(target_folder),
        cache_free=free_bytes(cache_folder),
        same_volume=_device(target_folder) == _device(cache_folder),
    )


def _device(folder: Path) -> int:
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    return folder.stat().st_dev
