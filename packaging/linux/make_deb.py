"""Packs a finished bundle as a Debian package with `dpkg-deb`; called by `build.py`.

The program goes to `/opt/tandem-chat`, a link to `/usr/bin`, the desktop files to `/usr/share`.
Dependencies are what `app.qt_check` asks for, so that an installed package always opens a window.
Triggers of the desktop packages refresh the menu, the icon cache and the file types by themselves.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from app import qt_check
from app.version import APP_ID, DESKTOP_ID, VERSION

ROOT = Path(__file__).resolve().parents[2]
PNG_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
DESCRIPTION = """\
Chat with local .litertlm models and measure speculative decoding
 Tandem runs language models in the .litertlm format on this computer with
 the LiteRT-LM engine. Models that carry a drafter can use speculative
 decoding: switch it per chat, see what it did and measure whether it is
 faster here. A small demo model is included; no account is needed."""


def dependencies() -> str:
    """The `Depends` line: C library and what the bundle leaves to the system."""
    renamed = {"libglib2.0-0": "libglib2.0-0t64 | libglib2.0-0"}
    packages = sorted({*qt_check.BASE.values(), *qt_check.X11_HOST.values()})
    libc = "libc6 (>= 2.34)" if platform.machine() == "x86_64" else "libc6 (>= 2.39)"
    return ", ".join([libc, *(renamed.get(name, name) for name in packages)])


def control(installed_kib: int) -> str:
    """The text of DEBIAN/control."""
    fields = {
        "Package": APP_ID,
        "Version": VERSION,
        "Section": "utils",
        "Priority": "optional",
        "Architecture": ARCHITECTURES[platform.machine()],
        "Maintainer": "The Tandem authors <tandem@localhost>",
        "Installed-Size": str(installed_kib),
        "Depends": dependencies(),
        "Recommends": "xdg-utils, fonts-noto-color-emoji | fonts-noto-core",
        "Suggests": "libvulkan1, mesa-vulkan-drivers",
        "Description": DESCRIPTION,
    }
    return "".join(f"{key}: {value}\n" for key, value in fields.items())


def make_deb(bundle_folder: Path, target: Path, work: Path) -> Path:
    """Builds the package in `work` (emptied first) and returns its path in `target`."""
    shutil.rmtree(work, ignore_errors=True)
    program = work / "opt" / APP_ID
    shutil.copytree(bundle_folder, program, symlinks=True)
    share, here = work / "usr" / "share", ROOT / "packaging" / "linux"
    command = work / "usr" / "bin" / "tandem"
    command.parent.mkdir(parents=True)
    command.symlink_to(f"/opt/{APP_ID}/tandem")
    copy(here / f"{DESKTOP_ID}.desktop", share / "applications" / f"{DESKTOP_ID}.desktop")
    copy(here / f"{DESKTOP_ID}.mime.xml", share / "mime" / "packages" / f"{DESKTOP_ID}.xml")
    copy(here / f"{DESKTOP_ID}.metainfo.xml", share / "metainfo" / f"{DESKTOP_ID}.metainfo.xml")
    copy(ROOT / "resources" / "licences" / "NOTICE.md", share / "doc" / APP_ID / "copyright")
    icons = share / "icons" / "hicolor"
    for size in PNG_SIZES:
        source = ROOT / "packaging" / "icons" / f"tandem-{size}.png"
        copy(source, icons / f"{size}x{size}" / "apps" / f"{DESKTOP_ID}.png")
    copy(
        ROOT / "resources" / "icons" / "app.svg", icons / "scalable" / "apps" / f"{DESKTOP_ID}.svg"
    )
    kib = sum(file.lstat().st_size for file in work.rglob("*") if file.is_file()) // 1024
    (work / "DEBIAN").mkdir()
    (work / "DEBIAN" / "control").write_text(control(kib), encoding="utf-8")
    for path in [work, *work.rglob("*")]:
        if not path.is_symlink():
            wide = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if wide else 0o644)
    result = target / f"{APP_ID}_{VERSION}_{ARCHITECTURES[platform.machine()]}.deb"
    command_line = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(work), str(result)]
    subprocess.run(command_line, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(work)
    return result


def copy(source: Path, destination: Path) -> None:
    """Copies one file, making its folder."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, destination)
