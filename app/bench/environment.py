"""The machine and the state a comparison ran in.

Everything is best effort: a fact that cannot be learnt is None. psutil is optional, since
the command line may run without it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from contextlib import suppress
from functools import lru_cache
from types import ModuleType

from app.bench.records import Environment, Plan
from app.version import VERSION
from engine.types import LIBRARY_VERSION, Backend, LoadedModel

psutil: ModuleType | None
try:
    import psutil as _psutil

    psutil = _psutil
except ImportError:  # the command line may lack it
    psutil = None

_SOFTWARE = ("llvmpipe", "lavapipe", "swiftshader", "software", "basic render", "warp")


def model_key(path: str) -> str:
    """Names one exact model file: size, mtime and a hash of its name. "" if it is gone."""
    try:
        stat = os.stat(path)
    except OSError:
        return ""
    return f"{stat.st_size}-{stat.st_mtime_ns}-{_name_key(os.path.basename(path))}"


@lru_cache(maxsize=64)
def _name_key(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:12]


def machine_key() -> str:
    """Names this kind of machine: results of another one must not decide here."""
    facts = (platform.system(), platform.machine(), cpu_name(), str(os.cpu_count()))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def cpu_name() -> str:
    """The processor's marketing name where the system tells it."""
    return _linux_cpu() or _windows_cpu() or platform.processor() or platform.machine()


def _linux_cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.lower().startswith(("model name", "hardware")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _windows_cpu() -> str:
    if sys.platform == "win32":
        import winreg

        place = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        with suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
            return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
    return ""


def software_adapter(name: str | None, kind: str | None) -> bool:
    """Whether a GPU adapter is the processor in disguise; its speeds mean little."""
    text = f"{name or ''} {kind or ''}".lower()
    return (kind or "").lower() == "cpu" or any(word in text for word in _SOFTWARE)


def power_source() -> str | None:
    """ "mains", "battery", or None where nothing is known (no battery, no psutil)."""
    if psutil is None or not hasattr(psutil, "sensors_battery"):
        return None
    try:
        battery = psutil.sensors_battery()
    except (OSError, RuntimeError, NotImplementedError):
        return None
    if battery is None or battery.power_plugged is None:
        return None
    return "mains" if battery.power_plugged else "battery"


def load_average() -> float | None:
    """Runnable processes, mean of the last minute; None on Windows."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def total_memory() -> int | None:
    if psutil is not None:
        return int(psutil.virtual_memory().total)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def cache_state(cache: str, folder: str) -> str:
    """What the disk cache held before the first load."""
    if cache == "no":
        return "off"
    if cache == "memory":
        return "memory"
    where = folder if cache == "disk" else cache
    filled = False
    with suppress(OSError), os.scandir(where or os.devnull) as entries:
        filled = any(entry.is_file() for entry in entries)
    return "disk, warm" if filled else "disk, cold"


NO_CACHE = {"cache_off", "cache_no_room"}
"""Notes of a load that could not use the cache it was given."""


def capture(plan: Plan, loaded: LoadedModel | None, cache: str) -> Environment:
    """The record of now. `loaded` gives what only a loaded engine knows."""
    adapter = loaded.adapter if loaded else None
    kind = loaded.adapter_type if loaded else None
    if loaded and NO_CACHE.intersection(loaded.notes):
        cache = "off"
    return Environment(
        tandem=VERSION,
        engine=loaded.library_version if loaded else LIBRARY_VERSION,
        os=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu_name(),
        cores=os.cpu_count(),
        threads=(loaded.threads if loaded else None) or plan.threads,
        backend=plan.backend,
        context_tokens=loaded.context_tokens if loaded else plan.context_tokens,
        cache=cache,
        date=time.time(),
        machine=machine_key(),
        python=platform.python_version(),
        adapter=adapter,
        adapter_type=kind,
        software_adapter=plan.backend is Backend.GPU and software_adapter(adapter, kind),
        memory=total_memory(),
        power=power_source(),
        load_average=load_average(),
        gpu_float16=plan.gpu_float16,
    )
