"""Builds Tandem's bundle for the system it runs on: clean, build, check, smoke test, archive.

    .venv/bin/python packaging/build.py                  everything, into dist/
    .venv/bin/python packaging/build.py --skip-smoke     without starting the result

The same steps here and in CI. Needs the environment of `run.py test`. Linux gives a tar.xz and,
with dpkg-deb, a .deb; Windows a zip and, with Inno Setup, an installer; macOS a disk image, signed
when there is a certificate. `SHA256SUMS` lists what was made.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bundle
import smoke

from app.version import APP_ID, APP_NAME, DESKTOP_ID, VERSION

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "bundle"
DIST = ROOT / "dist"
LINUX, WINDOWS, MAC = (sys.platform == name for name in ("linux", "win32", "darwin"))
MAX_UNPACKED_MB, MAX_PACKED_MB = 400, 140


class BuildError(Exception):
    """What is wrong with the bundle, in a sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the steps; 1 and a sentence at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip-smoke", action="store_true")
    parser.add_argument("--skip-archive", action="store_true")
    options = parser.parse_args(arguments)
    try:
        clean()
        build()
        check(folder())
        if not options.skip_smoke:
            step("smoke test")
            if smoke.main([str(program())]):
                raise BuildError("the smoke test failed")
        if not options.skip_archive:
            checksums(archive())
    except (BuildError, subprocess.CalledProcessError) as error:
        print(f"build: FAILED: {error}", file=sys.stderr)
        return 1
    return 0


def folder() -> Path:
    """The finished bundle."""
    return DIST / (f"{APP_NAME}.app" if MAC else bundle.FOLDER_NAME)


def program() -> Path:
    """What a smoke test starts: on Windows the console twin, whose output can be read."""
    if MAC:
        return folder() / "Contents" / "MacOS" / bundle.program_name()
    return folder() / ("tandem-cli.exe" if WINDOWS else bundle.program_name())


def target_name() -> str:
    """The archive's name without its ending, such as `tandem-chat-0.1.0-linux-x86_64`."""
    system = {"linux": "linux", "win32": "windows", "darwin": "macos"}[sys.platform]
    return f"{APP_ID}-{VERSION}-{system}-{platform.machine().lower().replace('amd64', 'x86_64')}"


def clean() -> None:
    """Removes what earlier builds left, nothing else in dist/."""
    step("clean")
    for path in (WORK, folder(), DIST / bundle.FOLDER_NAME):
        shutil.rmtree(path, ignore_errors=True)
    for path in DIST.glob(f"{APP_ID}[-_]{VERSION}*"):
        path.unlink()


def build() -> None:
    """Runs PyInstaller on the recipe."""
    step("build")
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"]
    command += ["--distpath", str(DIST), "--workpath", str(WORK)]
    command.append(str(ROOT / "packaging" / "tandem.spec"))
    environ = dict(os.environ, PYTHONHASHSEED="1")  # the same input gives the same archive
    subprocess.run(command, cwd=ROOT, env=environ, check=True)
    if LINUX and shutil.which("strip"):  # a Python built on the spot carries 20 MB of debug data
        internal = folder() / "_internal"
        mine = [*internal.glob("libpython*.so*"), *internal.glob("python3*/lib-dynload/*.so")]
        subprocess.run(["strip", "--strip-unneeded", *map(str, mine)], check=True)


# -- check -----------------------------------------------------------------------------------------


def check(place: Path) -> None:
    """Contents, licences, size, and that nothing is linked with a library that is not there."""
    step("check")
    files = [path for path in place.rglob("*") if path.is_file() and not path.is_symlink()]
    names = [path.relative_to(place).as_posix() for path in files]
    for needed in bundle.must_have():
        if not any(name.endswith(needed) for name in names):
            raise BuildError(f"{needed} is not in the bundle")
    for path in files:
        if path.name.startswith(bundle.MUST_NOT_HAVE) or path.parent.name in bundle.MUST_NOT_HAVE:
            raise BuildError(f"{path.relative_to(place)} should not be in the bundle")
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"  {len(files)} files, {size:.0f} MB")
    if size > MAX_UNPACKED_MB:
        raise BuildError(f"the bundle has {size:.0f} MB; {MAX_UNPACKED_MB} are allowed")
    if LINUX:
        check_links(files)


def check_links(files: Sequence[Path]) -> None:
    """Every ELF file finds its libraries in the bundle or on any desktop."""
    inside = {path.name for path in files}
    lacking = {
        library: path.name
        for path in files
        for library in bundle.linked_with(path)
        if library not in inside and not library.startswith(bundle.HOST_PROVIDES)
    }
    if lacking:
        listed = ", ".join(f"{library} (for {user})" for library, user in sorted(lacking.items()))
        raise BuildError(f"linked with libraries that may be missing: {listed}")


# -- archive ---------------------------------------------------------------------------------------


def archive() -> list[Path]:
    """Packs the bundle in the forms of this system and returns the files."""
    step("archive")
    if LINUX:
        return archive_linux()
    if WINDOWS:
        return archive_windows()
    command = [sys.executable, str(ROOT / "packaging" / "macos" / "make_dmg.py"), str(folder())]
    result = DIST / f"{target_name()}.dmg"
    subprocess.run([*command, str(result)], check=True)
    return [result]


def archive_linux() -> list[Path]:
    """A tar.xz with program, installer script and desktop files; a .deb where dpkg-deb exists."""
    stage = WORK / "archive" / f"{APP_ID}-{VERSION}"
    shutil.rmtree(stage.parent, ignore_errors=True)
    stage.mkdir(parents=True)
    shutil.copytree(folder(), stage / bundle.FOLDER_NAME, symlinks=True)
    here, share = ROOT / "packaging" / "linux", stage / "share"
    shutil.copy(here / "install.sh", stage)
    shutil.copytree(ROOT / "packaging" / "icons", share / "icons")
    shutil.copy(ROOT / "resources" / "icons" / "app.svg", share / "icons")
    for path in here.glob(f"{DESKTOP_ID}.*"):
        shutil.copy(path, share)
    for name in ("LICENSE", "README.md"):
        shutil.copy(ROOT / name, stage)
    result = DIST / f"{target_name()}.tar.xz"
    owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"]
    environ = dict(os.environ, XZ_OPT="-T0 -6")
    command = ["tar", "-C", str(stage.parent), *owner, "-cJf", str(result), stage.name]
    subprocess.run(command, env=environ, check=True)
    made = [result]
    if shutil.which("dpkg-deb"):
        sys.path.insert(0, str(here))
        import make_deb

        made.append(make_deb.make_deb(folder(), DIST, WORK / "deb"))
    else:
        print("  warning: no dpkg-deb here; no .deb was made")
    shutil.rmtree(stage.parent)
    for path in made:
        size = path.stat().st_size / 1e6
        print(f"  {path.name}  {size:.0f} MB")
        if size > MAX_PACKED_MB:
            raise BuildError(f"{path.name} has {size:.0f} MB; {MAX_PACKED_MB} are allowed")
    return made


def archive_windows() -> list[Path]:
    """A zip to unpack anywhere; with Inno Setup also the installer."""
    result = DIST / f"{target_name()}.zip"
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(folder().rglob("*")):
            packed.write(path, Path(APP_NAME) / path.relative_to(folder()))
    made = [result]
    compiler = shutil.which("iscc") or shutil.which("ISCC.exe")
    if compiler:
        script = ROOT / "packaging" / "windows" / "tandem.iss"
        options = [f"/DVersion={VERSION}", f"/DSource={folder()}", f"/O{DIST}"]
        name = f"{target_name()}-setup"
        subprocess.run([compiler, "/Qp", *options, f"/F{name}", str(script)], check=True)
        made.append(DIST / f"{name}.exe")
    else:
        print("  warning: no Inno Setup (iscc) here; no installer was made")
    return made


def checksums(made: Sequence[Path]) -> None:
    """Writes SHA256SUMS in the format that `sha256sum -c` reads."""
    lines = []
    for path in made:
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (DIST / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="")


_begin = time.monotonic()


def step(name: str) -> None:
    print(f"== {name}  (at {time.monotonic() - _begin:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
