"""Signs `Tandem.app`, packs it as a disk image, notarises it; called by `build.py` on macOS.

    python packaging/macos/make_dmg.py dist/Tandem.app dist/tandem.dmg

Without certificates the steps that need them are skipped with a warning, and the app keeps an
ad-hoc signature: it then starts only after a right click and Open. Asked of the environment:
`TANDEM_MACOS_IDENTITY` (a "Developer ID Application" certificate in the keychain) and
`TANDEM_NOTARY_PROFILE` (made with `xcrun notarytool store-credentials`).
"""

from __future__ import annotations

import os
import platform
import plistlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENTITLEMENTS = HERE / "entitlements.plist"
MINIMUM = "14.0"


def main(arguments: Sequence[str]) -> int:
    """`make_dmg.py APP IMAGE`; 1 when a step fails."""
    if len(arguments) != 2 or platform.system() != "Darwin":
        print("usage, on macOS: make_dmg.py Tandem.app IMAGE.dmg", file=sys.stderr)
        return 2
    app, image = Path(arguments[0]), Path(arguments[1])
    try:
        check(app)
        sign(app)
        pack(app, image)
        notarise(image)
    except subprocess.CalledProcessError as error:
        print(f"make_dmg: {error}", file=sys.stderr)
        return 1
    return 0


def check(app: Path) -> None:
    """The app must refuse the systems that the engine refuses; its wheel's tag promises more."""
    with (app / "Contents" / "Info.plist").open("rb") as file:
        found = plistlib.load(file).get("LSMinimumSystemVersion")
    if found != MINIMUM:
        raise SystemExit(f"make_dmg: Info.plist asks for macOS {found}, not {MINIMUM}")


def sign(app: Path) -> None:
    """Signs every library first and the app last, with the hardened runtime."""
    identity = os.environ.get("TANDEM_MACOS_IDENTITY")
    if not identity:
        warn("TANDEM_MACOS_IDENTITY is not set; the app keeps an ad-hoc signature")
        run("codesign", "--force", "--deep", "--sign", "-", str(app))
        return
    options = ["--force", "--timestamp", "--options", "runtime", "--sign", identity]
    inner = [p for p in app.rglob("*") if p.suffix in (".dylib", ".so") and not p.is_symlink()]
    for path in sorted(inner, key=lambda p: len(p.parts), reverse=True):
        run("codesign", *options, str(path))
    for framework in app.rglob("*.framework"):
        run("codesign", *options, str(framework))
    run("codesign", *options, "--entitlements", str(ENTITLEMENTS), str(app))
    run("codesign", "--verify", "--deep", "--strict", "--verbose=2", str(app))


def pack(app: Path, image: Path) -> None:
    """A disk image with the app and a link to /Applications."""
    image.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        shutil.copytree(app, stage / app.name, symlinks=True)
        (stage / "Applications").symlink_to("/Applications")
        options = ["-volname", "Tandem", "-srcfolder", str(stage), "-format", "ULFO", "-ov"]
        run("hdiutil", "create", *options, str(image))
    identity = os.environ.get("TANDEM_MACOS_IDENTITY")
    if identity:
        run("codesign", "--timestamp", "--sign", identity, str(image))


def notarise(image: Path) -> None:
    """Sends the image to Apple and staples the ticket to it."""
    profile = os.environ.get("TANDEM_NOTARY_PROFILE")
    if not profile or not os.environ.get("TANDEM_MACOS_IDENTITY"):
        warn("TANDEM_NOTARY_PROFILE or the identity is not set; the image is not notarised")
        return
    run("xcrun", "notarytool", "submit", str(image), "--keychain-profile", profile, "--wait")
    run("xcrun", "stapler", "staple", str(image))
    run("spctl", "--assess", "--type", "open", "--context", "context:primary-signature", str(image))


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def warn(text: str) -> None:
    print(f"make_dmg: warning: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
