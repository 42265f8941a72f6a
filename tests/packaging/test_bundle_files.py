"""The files that make a bundle: recipe, desktop files, installers, icons, licences, versions."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import plistlib
import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from app import version

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
LINUX = PACKAGING / "linux"


def load(path: Path) -> ModuleType:
    """A script of `packaging/`, which is no package on purpose."""
    sys.path.insert(0, str(PACKAGING))
    try:
        spec = importlib.util.spec_from_file_location(f"packaging_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PACKAGING))
    return module


@pytest.fixture(scope="module")
def bundle() -> ModuleType:
    return load(PACKAGING / "bundle.py")


def test_packaging_does_not_shadow_the_library_of_that_name() -> None:
    assert not (PACKAGING / "__init__.py").exists()
    import packaging

    assert packaging.__file__ is not None
    assert "site-packages" in packaging.__file__


@pytest.mark.parametrize(
    "path", [*sorted(PACKAGING.rglob("*.py")), PACKAGING / "tandem.spec"], ids=lambda p: p.name
)
def test_scripts_are_python(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_spec_has_the_decisions_in_it() -> None:
    text = (PACKAGING / "tandem.spec").read_text(encoding="utf-8")
    assert "upx=False" in text
    assert "upx=True" not in text
    assert "exclude_binaries=True" in text, "one folder, not one file"
    assert "COLLECT(" in text
    assert "BUNDLE(" in text


def test_freeze_support_comes_before_every_other_import() -> None:
    tree = ast.parse((PACKAGING / "start.py").read_text(encoding="utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in top] == ["import multiprocessing"]
    guarded = next(node for node in tree.body if isinstance(node, ast.If)).body
    assert ast.unparse(guarded[0]) == "multiprocessing.freeze_support()"


def test_names_agree(bundle: ModuleType) -> None:
    assert bundle.BUNDLE_ID == version.DESKTOP_ID
    assert bundle.MIME_TYPE == version.MIME_TYPE


def test_bundle_lists(bundle: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert bundle.belongs("litert_lm/liblitert-lm.so")
    assert bundle.belongs("libxcb-cursor.so.0")
    assert bundle.belongs("PySide6/Qt/plugins/platforms/libqwayland.so")
    assert not bundle.belongs("libstdc++.so.6")
    assert not bundle.belongs("PySide6/Qt/plugins/platforms/libqeglfs.so")
    assert not bundle.belongs("PySide6\\Qt\\translations\\qt_de.qm")
    assert not bundle.belongs("resources/models/x.litertlm.xnnpack_cache")
    monkeypatch.setattr(sys, "platform", "win32")
    assert "litert_lm/dxil.dll" in bundle.must_have()
    assert "keyring.backends.Windows" in bundle.keyring_backends()


def test_development_tools_stay_out(bundle: ModuleType) -> None:
    modules = bundle.development_modules(ROOT)
    assert {"pytest", "mypy", "PyInstaller", "yaml"} <= set(modules)
    assert not {"PySide6", "keyring", "httpx", "typing_extensions", "cffi"} & set(modules)


def test_what_a_bundle_must_have_exists_here(bundle: ModuleType) -> None:
    for name in bundle.must_have():
        if not name.startswith("litert_lm/"):
            assert (ROOT / name).is_file(), name


# -- Linux -----------------------------------------------------------------------------------------


def desktop_entry() -> dict[str, str]:
    lines = (LINUX / f"{version.DESKTOP_ID}.desktop").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "[Desktop Entry]"
    return dict(line.split("=", 1) for line in lines[1:] if line)


def test_desktop_file() -> None:
    entry = desktop_entry()
    assert entry["Type"] == "Application"
    assert entry["Name"] == version.APP_NAME
    assert entry["Icon"] == entry["StartupWMClass"] == version.DESKTOP_ID
    assert entry["MimeType"] == f"{version.MIME_TYPE};"
    assert entry["Exec"].endswith(" %f"), "a double click hands the file over"


def test_mime_type_matches_real_files() -> None:
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    root = ElementTree.parse(LINUX / f"{version.DESKTOP_ID}.mime.xml").getroot()
    kind = root.find(f"{space}mime-type")
    assert kind is not None
    assert kind.get("type") == version.MIME_TYPE
    assert [glob.get("pattern") for glob in kind.iter(f"{space}glob")] == ["*.litertlm"]
    match = next(kind.iter(f"{space}match"))
    magic = str(match.get("value")).encode()
    with (ROOT / "resources" / "models" / "tandem-demo.litertlm").open("rb") as file:
        assert file.read(len(magic)) == magic


def test_appstream_record() -> None:
    root = ElementTree.parse(LINUX / f"{version.DESKTOP_ID}.metainfo.xml").getroot()
    assert root.findtext("id") == version.DESKTOP_ID
    assert root.findtext("launchable") == f"{version.DESKTOP_ID}.desktop"
    assert root.findtext("project_license") == "Apache-2.0"
    assert root.findtext("provides/mediatype") == version.MIME_TYPE
    releases = [release.get("version") for release in root.iter("release")]
    assert releases[0] == version.VERSION


def test_debian_package_depends_on_what_a_window_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from app import qt_check

    make_deb = load(LINUX / "make_deb.py")
    monkeypatch.setattr(make_deb.platform, "machine", lambda: "x86_64")
    text = make_deb.control(1000)
    depends = next(line for line in text.splitlines() if line.startswith("Depends: "))
    for package in (*qt_check.BASE.values(), *qt_check.X11_HOST.values()):
        assert package in depends
    assert f"Version: {version.VERSION}\n" in text
    assert not re.search(r"^\S.*[^:]\n(?=\S+[^:\s]\s)", text.split("Description")[0])


def test_installer_script_knows_the_files_of_the_archive() -> None:
    text = (LINUX / "install.sh").read_text(encoding="utf-8")
    assert f"id={version.DESKTOP_ID}" in text
    sizes = re.search(r"for size in ([\d ]+);", text)
    assert sizes is not None
    for size in sizes[1].split():
        assert (PACKAGING / "icons" / f"tandem-{size}.png").is_file()


# -- Windows and macOS -----------------------------------------------------------------------------


def test_windows_installer() -> None:
    text = (PACKAGING / "windows" / "tandem.iss").read_text(encoding="utf-8")
    assert "PrivilegesRequired=lowest" in text, "per user, without administrator rights"
    assert "MinVersion=10.0" in text
    assert "ArchitecturesAllowed=x64os" in text, "not under emulation on ARM"
    assert r"Software\Classes\.litertlm" in text
    assert version.MIME_TYPE in text
    assert "[UninstallDelete]" not in text, "uninstalling keeps data"
    for name in re.findall(r"^(?:SetupIconFile|LicenseFile)=(.+)$", text, re.MULTILINE):
        assert (PACKAGING / "windows" / name.replace("\\", "/")).is_file(), name


def test_mac_files() -> None:
    with (PACKAGING / "macos" / "entitlements.plist").open("rb") as file:
        entitlements = plistlib.load(file)
    assert entitlements["com.apple.security.cs.allow-unsigned-executable-memory"] is True
    facts = load(PACKAGING / "bundle_metadata.py").info_plist(version.VERSION)
    assert facts["LSMinimumSystemVersion"] == "14.0"
    assert facts["LSArchitecturePriority"] == ["arm64"]
    declared = facts["UTImportedTypeDeclarations"][0]
    assert facts["CFBundleDocumentTypes"][0]["LSItemContentTypes"] == [declared["UTTypeIdentifier"]]
    assert declared["UTTypeTagSpecification"]["public.filename-extension"] == ["litertlm"]
    assert plistlib.dumps(facts)


# -- icons -----------------------------------------------------------------------------------------


def png_size(data: bytes) -> tuple[int, int]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_icons_are_from_the_current_drawing() -> None:
    svg = (ROOT / "resources" / "icons" / "app.svg").read_bytes()
    noted = (PACKAGING / "icons" / "source.sha256").read_text().strip()
    assert hashlib.sha256(svg).hexdigest() == noted, "run packaging/make_icons.py"


def test_png_icons() -> None:
    files = list((PACKAGING / "icons").glob("*.png"))
    assert len(files) >= 9
    for file in files:
        size = int(file.stem.split("-")[1])
        assert png_size(file.read_bytes()) == (size, size)


def test_windows_icon() -> None:
    data = (PACKAGING / "icons" / "tandem.ico").read_bytes()
    zero, kind, count = struct.unpack_from("<HHH", data)
    assert (zero, kind) == (0, 1)
    sizes = set()
    for index in range(count):
        side, _, _, _, _, _, length, offset = struct.unpack_from("<BBBBHHII", data, 6 + 16 * index)
        assert png_size(data[offset : offset + length]) == (side or 256, side or 256)
        sizes.add(side or 256)
    assert {16, 32, 48, 256} <= sizes


def test_mac_icon() -> None:
    data = (PACKAGING / "icons" / "tandem.icns").read_bytes()
    assert data[:4] == b"icns"
    assert struct.unpack_from(">I", data, 4)[0] == len(data)
    offset, kinds = 8, set()
    while offset < len(data):
        kind, length = struct.unpack_from(">4sI", data, offset)
        png_size(data[offset + 8 : offset + length])
        kinds.add(kind.decode())
        offset += length
    assert {"ic07", "ic08", "ic09", "ic10"} <= kinds


# -- licences --------------------------------------------------------------------------------------


def test_every_locked_package_has_its_licence(bundle: ModuleType) -> None:
    folder = ROOT / "resources" / "licences" / "python"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    assert set(index) == {name for name, _ in pins}
    for name in index:
        versions = {pinned for found, pinned in pins if found == name}
        assert index[name]["version"] in versions, f"{name}: run packaging/licences.py"
        assert index[name]["licence"], name
        assert len((folder / f"{name}.txt").read_text(encoding="utf-8")) > 80, name
    assert {file.stem for file in folder.glob("*.txt")} == set(index)


def test_notice_names_what_is_not_a_python_package() -> None:
    folder = ROOT / "resources" / "licences"
    notice = (folder / "NOTICE.md").read_text(encoding="utf-8")
    for needed in ("LiteRT-LM", "Qt", "demo model", "Apache License 2.0", "Icons", "fonts"):
        assert needed in notice
    for name in set(re.findall(r"`([A-Z][A-Za-z0-9.-]+\.(?:txt|md))`", notice)):
        assert (folder / name).is_file(), name
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (folder / "LGPL-3.0.txt").read_text()
    assert "SmolLM2" in (folder / "DEMO-MODEL.md").read_text(encoding="utf-8")
