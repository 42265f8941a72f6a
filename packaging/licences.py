"""Collects the licence texts of every locked runtime package into `resources/licences/python/`.

    .venv/bin/python packaging/licences.py                 from what is installed
    .venv/bin/python packaging/licences.py pywin32.whl …   and from wheels of other systems

Texts come from the packages' own metadata, unchanged. A package that ships none gets the full text
of its declared licence when we have it, with a line that says so. `index.json` lists name, version,
licence and home page of each; the About page and `build.py` read it, a test compares it with the
lock file.
"""

from __future__ import annotations

import email
import importlib.metadata
import json
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import bundle

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "resources" / "licences" / "python"
WORDS = ("licen", "copying", "notice", "authors")
FULL_TEXTS = {
    "Apache-2.0": "Apache-2.0.txt",
    "Apache Software License": "Apache-2.0.txt",
    "LGPL-3.0": "LGPL-3.0.txt",
}
CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True, slots=True)
class Found:
    """One package: its place in the index and the texts it ships, by file name."""

    name: str
    version: str
    licence: str
    home: str
    texts: tuple[tuple[str, str], ...]


def installed(name: str) -> Found | None:
    """The package as it is installed here, or None."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    texts = [
        (short(str(file)), file.read_text(encoding="utf-8"))
        for file in distribution.files or []
        if is_licence(str(file))
    ]
    return found(name, distribution.read_text("METADATA") or "", texts)


def in_wheel(path: Path) -> Found:
    """The package in a wheel file (for packages of another system)."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(n for n in names if n.endswith(".dist-info/METADATA"))
        texts = [
            (short(n), wheel.read(n).decode("utf-8", "replace")) for n in names if is_licence(n)
        ]
        text = wheel.read(metadata).decode("utf-8")
    return found(bundle.canonical(path.name.split("-")[0]), text, texts)


def is_licence(path: str) -> bool:
    """Whether a file in a package's metadata (not in its code) is a licence text."""
    parts = path.lower().split("/")
    return any(p.endswith(".dist-info") for p in parts[:-1]) and any(w in parts[-1] for w in WORDS)


def short(path: str) -> str:
    """The path of a licence text below the package's metadata folder."""
    return path.split(".dist-info/", 1)[-1].removeprefix("licenses/")


def found(name: str, metadata: str, texts: list[tuple[str, str]]) -> Found:
    """Reads what the index needs from a METADATA text."""
    fields = email.message_from_string(metadata)
    licence = fields.get("License-Expression") or ""
    if not licence:
        classifiers = [c for c in fields.get_all("Classifier", []) if c.startswith(CLASSIFIER)]
        licence = " / ".join(c.removeprefix(CLASSIFIER) for c in classifiers)
    if not licence:
        licence = (fields.get("License") or "see the text").strip().splitlines()[0]
    links = [str(link).partition(", ")[::2] for link in fields.get_all("Project-URL", [])]
    by_label = {label.lower(): address for label, address in reversed(links)}
    labels = [
        label for label in ("homepage", "source", "repository", "source code") if label in by_label
    ]
    home = fields.get("Home-page") or (by_label[labels[0]] if labels else "")
    home = home or next((address for _, address in links), "")
    return Found(name, str(fields["Version"]), licence, str(home), tuple(texts))


def page(item: Found) -> str:
    """The text file of one package."""
    head = f"{item.name} {item.version}\nLicence: {item.licence}\n{item.home}\n"
    parts = [f"{'-' * 80}\n{name}\n{'-' * 80}\n{text.strip()}\n" for name, text in item.texts]
    if not parts:
        known = [file for key, file in FULL_TEXTS.items() if key in item.licence]
        if not known:
            raise SystemExit(f"{item.name} ships no licence text and {item.licence!r} is not here")
        parts = [f"The package ships no text of its own; see ../{known[0]}.\n"]
    return "\n".join([head, *parts])


def main(arguments: list[str]) -> int:
    """Writes all files; 1 when a locked package could not be found."""
    wheels = {item.name: item for item in (in_wheel(Path(name)) for name in arguments)}
    index_file = TARGET / "index.json"
    old = json.loads(index_file.read_text(encoding="utf-8")) if index_file.exists() else {}
    index: dict[str, dict[str, str]] = {}
    missing = []
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, version in sorted(bundle.locked(ROOT / "requirements.lock").items()):
        item = wheels.get(name) or installed(name)
        if item is None:
            if old.get(name, {}).get("version") == version:
                index[name] = old[name]
            else:
                missing.append(f"{name}=={version}")
            continue
        (TARGET / f"{name}.txt").write_text(page(item), encoding="utf-8")
        index[name] = {"version": item.version, "licence": item.licence, "home": item.home}
    for stale in TARGET.glob("*.txt"):
        if stale.stem not in index:
            stale.unlink()
    index_file.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    if missing:
        print("Not installed here; pass their wheels:", *missing, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
