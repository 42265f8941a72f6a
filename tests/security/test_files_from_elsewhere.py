"""Files and names that come from outside: archives, downloads, attachments, foreign folders."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import zipfile
from pathlib import Path

import msgspec
import pytest

from app import export, export_markdown
from app.attachment_images import prepare
from app.attachments import AttachmentError, AttachmentStore
from app.bench.export import _safe_cell, to_csv
from app.conversation import Attachment, Conversation, Node, Role
from app.export import TransferError
from app.library import delete, journal
from app.library.download_types import DownloadRequest
from app.library.local import HELD_FOLDER
from app.library.names import free_target, safe_file_name
from app.tools.mcp_waits import log_file
from tests.fakes.pictures import png

BAD_NAMES = (
    "../../evil.litertlm", "..\\..\\evil.litertlm", "/etc/cron.d/evil", "C:\\Windows\\evil",
    "C:evil.litertlm", "\\\\host\\share\\x.litertlm", "CON", "con.litertlm", "nul.tar.litertlm",
    "COM1.litertlm", "lpt9", "...", "..", ".", "", " ", "a\0b.litertlm", "a\nb.litertlm",
    "x" * 5000 + ".litertlm", "a:stream.litertlm", "safe\u202emltretil.exe", "\u200b", "~/.ssh/id",
    "-rf.litertlm", "a?b*c|d<e>f\".litertlm", "trailing. . .litertlm", "%2e%2e%2fx.litertlm",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_download_stays_in_its_folder(name: str, tmp_path: Path) -> None:
    target = free_target(tmp_path, name)
    assert target.parent == tmp_path
    assert target.resolve().parent == tmp_path.resolve()
    assert target.name.endswith(".litertlm")
    assert len(os.fsencode(target.name)) <= 240
    stem = target.name.split(".")[0].lower()
    assert stem not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
    assert not set(target.name) & set('/\\:*?"<>|\0\n\u202e\u200b')
    target.write_bytes(b"")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_an_export_and_a_log_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    made = export_markdown.file_name(name)
    assert (tmp_path / f"{made}.md").resolve().parent == tmp_path.resolve()
    assert made.split(".")[0].lower() not in {"con", "nul", "com1", "lpt9"}
    assert log_file(tmp_path, name).resolve().parent == tmp_path.resolve()


def test_overlong_names_of_wide_letters_fit_the_disk(tmp_path: Path) -> None:
    target = free_target(tmp_path, "模" * 400 + ".litertlm")
    target.write_bytes(b"")
    assert safe_file_name("模" * 400).endswith(".litertlm")


def store(folder: Path) -> AttachmentStore:
    return AttachmentStore(folder / "attachments", prepare)


def chat(file: str, name: str = "a.png") -> Conversation:
    item = Attachment(kind="image", file=file, name=name, bytes=1)
    node = Node(id="n", parent=None, role=Role.USER, text="x", attachments=(item,))
    return Conversation(id="c", title="t", nodes={"n": node})


def archive(folder: Path, conversation: Conversation, files: dict[str, bytes]) -> Path:
    path = folder / "in.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(export.JSON_NAME, export.encode([conversation]))
        for name, data in files.items():
            out.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "name",
    ["../../evil.png", "/tmp/evil.png", "C:\\evil.png", "..\\evil.png", "a/b.png", "CON", ""],
)
def test_zip_slip_writes_nothing_outside(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = archive(inside, chat(name), {f"attachments/{name}": png(2, 2), name or "x": png(2, 2)})
    before = sorted(p for p in tmp_path.rglob("*") if p.is_file())
    found = export.read(path, store(inside))
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == before
    assert found.missing == 1
    assert found.conversations[0].nodes["n"].attachments == ()


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    name = "a" * 40 + ".png"
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(export.JSON_NAME, export.encode([chat(name)]))
        link = zipfile.ZipInfo(f"attachments/{name}")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(link, "/etc/passwd")
    found = export.read(path, store(tmp_path))
    assert found.missing == 1
    assert not (tmp_path / "attachments").exists()


def test_bombs_are_refused_before_they_unfold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a" * 40 + ".png"
    monkeypatch.setattr(export, "MAX_FILE_BYTES", 100_000)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(export.JSON_NAME, export.encode([chat(name)]))
        out.writestr(f"attachments/{name}", b"\x89PNG" + b"\0" * 5_000_000)
    with pytest.raises(TransferError, match="import_too_large"):
        export.read(path, store(tmp_path))
    monkeypatch.setattr(export, "MAX_ENTRIES", 3)
    many = archive(tmp_path, chat(name), {str(i): b"" for i in range(5)})
    with pytest.raises(TransferError, match="import_too_large"):
        export.read(many, store(tmp_path))
    deep = tmp_path / "deep.json"
    deep.write_text('{"format": "tandem-conversations", "conversations": ' + "[" * 100_000)
    with pytest.raises(TransferError):
        export.read(deep, store(tmp_path))


def test_a_stored_name_is_never_a_path(tmp_path: Path) -> None:
    files = store(tmp_path)
    for name in ("../x.png", "/etc/passwd", "a" * 40 + ".png/../../x", "a" * 40 + ".png\n"):
        item = Attachment(kind="image", file=name, name="x", bytes=1)
        with pytest.raises(ValueError, match=r".*"):
            files.path(item)
        assert files.read(item) is None


def test_an_attachment_is_what_its_bytes_are(tmp_path: Path) -> None:
    picture = tmp_path / "photo.png"
    for data in (b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
                 b"MZ\x90\0", b"#!/bin/sh\n", b"%PDF-1.7"):  # fmt: skip
        picture.write_bytes(data)
        with pytest.raises(AttachmentError):
            store(tmp_path).add_file(picture)


def test_links_of_a_foreign_folder_are_not_emptied(tmp_path: Path) -> None:
    precious = tmp_path / "documents"
    precious.mkdir()
    (precious / "thesis.litertlm").write_bytes(b"x")
    (precious / "letter.txt").write_bytes(b"x")
    models = tmp_path / "models"
    (models / HELD_FOLDER).mkdir(parents=True)
    (models / HELD_FOLDER / "1").symlink_to(precious)
    (models / HELD_FOLDER / "2").mkdir()
    (models / HELD_FOLDER / "2" / "notes.txt").write_bytes(b"x")
    other = tmp_path / "other"
    other.mkdir()
    (other / HELD_FOLDER).symlink_to(models)
    gone: list[str] = []
    delete.commit(delete.leftovers([models, other]), gone.append)
    assert gone == []
    assert len(list(precious.iterdir())) == 2
    assert (models / HELD_FOLDER / "2" / "notes.txt").exists()


def test_a_planted_journal_cannot_point_elsewhere(tmp_path: Path) -> None:
    request = DownloadRequest(key="k", name="n", url="https://h/x", target="/etc/passwd")
    planted = tmp_path / "m.litertlm.partial.json"
    planted.write_bytes(msgspec.json.encode(journal.Journal(request=request)))
    (found,) = journal.found_in(tmp_path)
    assert found.request.path == tmp_path / "m.litertlm"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_cell_of_a_csv_becomes_a_formula(start: str) -> None:
    cell = _safe_cell(f"{start}HYPERLINK(A1)")
    assert str(cell).startswith("'")
    out = io.StringIO()
    csv.writer(out).writerow([cell])
    assert next(csv.reader(io.StringIO(out.getvalue())))[0] == cell
    assert _safe_cell(-1.5) == -1.5
    assert to_csv([]).startswith("date,")


def test_an_import_is_data_only(tmp_path: Path) -> None:
    """Objects that other readers would build are plain text or an error here."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps({
        "format": export.FORMAT, "version": 1,
        "conversations": [{"id": "c", "title": "{{7*7}}", "__class__": "os.system", "!x": "y"}],
    }))  # fmt: skip
    (found,) = export.read(path, store(tmp_path)).conversations
    assert found.title == "{{7*7}}"
