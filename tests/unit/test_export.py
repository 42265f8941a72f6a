"""Export and import: an exact round trip, and nothing hostile gets through."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import export
from app.attachment_images import prepare
from app.attachments import AttachmentStore
from app.conversation import (
    Attachment,
    ChatSettings,
    Conversation,
    Node,
    Role,
    RunRecord,
    ToolStep,
    TurnStatus,
)
from app.export import TransferError
from app.export_markdown import all_to_markdown, file_name, to_markdown
from app.history_rows import from_json, node_from, node_values, read_text, store_text, to_json
from engine.types import FinishReason, Sampling, SpecMode
from tests.fakes.pictures import png

TEXT = st.text(st.characters(), max_size=40)
"""Every code point, lone surrogates and NUL included."""
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | st.floats(0, 1e6)
COUNT = st.none() | st.integers(0, 2**53)
RUNS = st.builds(
    RunRecord,
    model=TEXT,
    backend=st.sampled_from(["cpu", "gpu"]),
    speculative=st.booleans(),
    engine_version=TEXT,
    reason=st.sampled_from(FinishReason),
    finished=NUMBER,
    elapsed_s=MAYBE,
    decode_tps=MAYBE,
    context_used=COUNT,
    tokens_per_step=MAYBE,
    form=TEXT,
    form_ok=st.none() | st.booleans(),
)
STEPS = st.builds(
    ToolStep, name=TEXT, arguments_json=TEXT, result_json=TEXT, state=TEXT, seconds=MAYBE
)
SAMPLING = st.builds(
    Sampling,
    temperature=st.floats(0, 5),
    top_p=st.floats(0.01, 1),
    top_k=st.integers(1, 100),
    seed=st.none() | st.integers(0, 2**31 - 1),
    max_output_tokens=st.none() | st.integers(1, 4096),
    repetition_penalty=st.none() | st.floats(0.1, 5),
)
SETTINGS = st.builds(
    ChatSettings,
    system=TEXT,
    sampling=SAMPLING,
    spec=st.sampled_from(SpecMode),
    thinking=st.booleans(),
    thinking_budget=st.none() | st.integers(1, 4096),
    tools=st.booleans(),
    start_at=TEXT,
)


FILES = st.builds(
    Attachment,
    kind=st.sampled_from(["image", "audio"]),
    file=st.uuids().map(lambda u: f"{u.hex}.png"),
    name=TEXT,
    bytes=st.integers(0, 10**9),
)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    chat = Conversation(
        id=draw(st.uuids()).hex,
        title=draw(TEXT),
        custom_title=draw(st.booleans()),
        pinned=draw(st.booleans()),
        created=draw(NUMBER),
        draft=draw(TEXT),
        draft_files=tuple(draw(st.lists(FILES, max_size=2))),
        settings=draw(SETTINGS),
    )
    ids: list[str] = []
    for number in range(draw(st.integers(0, 7))):
        parent = draw(st.sampled_from([None, *ids]))
        node = Node(
            id=f"n{number}",
            parent=parent,
            role=draw(st.sampled_from(Role)),
            text=draw(TEXT),
            thought=draw(TEXT),
            tool_steps=tuple(draw(st.lists(STEPS, max_size=2))),
            run=draw(st.none() | RUNS),
            status=draw(st.sampled_from(TurnStatus)),
            error=draw(TEXT),
            created=draw(NUMBER),
        )
        chat.add(node)
        ids.append(node.id)
    for node_id in draw(st.lists(st.sampled_from(ids), max_size=4)) if ids else ():
        chat.select(node_id)
    chat.updated = draw(NUMBER)
    return chat


@pytest.fixture
def store(tmp_path: Path) -> AttachmentStore:
    return AttachmentStore(tmp_path / "attachments", prepare)


@given(st.lists(conversations(), max_size=3))
def test_json_round_trip_is_exact(chats: list[Conversation]) -> None:
    data = export.encode(chats)
    assert export.decode(data) == chats
    parsed = json.loads(data)
    assert parsed["format"] == "tandem-conversations"


@given(conversations())
def test_rows_round_trip_is_exact(chat: Conversation) -> None:
    for node in chat.nodes.values():
        assert node_from(node_values(node)) == node
    assert from_json(to_json(chat.settings), ChatSettings) == chat.settings
    assert read_text(store_text(chat.title)) == chat.title


@given(conversations())
def test_markdown_can_always_be_written_and_hides_thoughts(chat: Conversation) -> None:
    for node in chat.nodes.values():
        node.thought = "SECRETTHOUGHT"
    text = to_markdown(chat)
    text.encode()
    assert "\0" not in text
    assert "SECRETTHOUGHT" not in text
    if chat.path():
        assert "SECRETTHOUGHT" in to_markdown(chat, thoughts=True)


@given(TEXT)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_file_names_are_accepted_everywhere(tmp_path: Path, title: str) -> None:
    name = file_name(title)
    assert name == name.strip(" .")
    assert not set(name) & set('<>:"/\\|?*')
    assert name.lower() not in ("con", "nul", "")
    (tmp_path / f"{name}.md").write_text("x")


def with_image(store: AttachmentStore) -> Conversation:
    chat = Conversation.new()
    chat.title = "A picture"
    picture = store.add_bytes(png(8, 8), "ä.png")
    chat.add(Node(id="q", parent=None, role=Role.USER, text="What?", attachments=(picture,)))
    run = RunRecord(
        model="demo",
        backend="cpu",
        speculative=False,
        engine_version="0.18.1",
        reason=FinishReason.LIMIT,
        decode_tps=12.34,
    )
    chat.add(
        Node(
            id="a",
            parent="q",
            role=Role.ASSISTANT,
            text="Green ```x```",
            tool_steps=(ToolStep(name="look", arguments_json="{}", result_json='{"a": 1}'),),
            run=run,
            status=TurnStatus.LIMIT,
        )
    )
    return chat


def test_attachments_travel_in_a_zip(store: AttachmentStore, tmp_path: Path) -> None:
    chat = with_image(store)
    unsent = store.add_bytes(png(9, 9), "unsent.png")
    chat.draft_files = (unsent,)
    path = export.write(tmp_path / "out.json", [chat], store)
    assert path.name == "out.zip"
    other = AttachmentStore(tmp_path / "elsewhere", prepare)
    imported = export.read(path, other)
    assert imported.conversations == [chat]
    assert imported.missing == 0
    item = chat.nodes["q"].attachments[0]
    assert other.read(item) == store.read(item)
    assert other.read(unsent) == store.read(unsent)
    assert [f.name for f in tmp_path.iterdir() if f.name.startswith(".")] == []


def test_a_chat_without_attachments_is_plain_json(store: AttachmentStore, tmp_path: Path) -> None:
    chat = Conversation.new()
    path = export.write(tmp_path / "x.zip", [chat], store)
    assert path.name == "x.json"
    assert export.read(path, store).conversations == [chat]


def test_markdown_reads_well(store: AttachmentStore) -> None:
    chat = with_image(store)
    text = to_markdown(chat)
    for piece in (
        "# A picture",
        "**You**",
        "*Attached: ä.png (image, ",
        "**Answer** · demo · cpu · spec off · 12.3 tok/s decode",
        '```json\n{"a": 1}\n```',
        "*(output limit reached)*",
    ):
        assert piece in text
    assert all_to_markdown([chat, chat]).count("# A picture") == 2


def hostile(tmp_path: Path, entries: dict[str, bytes]) -> Path:
    path = tmp_path / "hostile.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def test_names_in_an_archive_are_never_paths(store: AttachmentStore, tmp_path: Path) -> None:
    chat = Conversation.new()
    bad = [
        Attachment(kind="image", file=name, name="x", bytes=1)
        for name in ("../../evil.png", "/tmp/evil.png", "..\\evil.png", "a" * 40 + ".png/../x")
    ]
    chat.add(Node(id="q", parent=None, role=Role.USER, text="hi", attachments=tuple(bad)))
    entries = {f"attachments/{b.file}": png(4, 4) for b in bad}
    path = hostile(tmp_path, {"conversations.json": export.encode([chat]), **entries})
    before = set(tmp_path.rglob("*"))
    imported = export.read(path, store)
    assert imported.missing == 4
    assert imported.conversations[0].nodes["q"].attachments == ()
    assert set(tmp_path.rglob("*")) == before


def test_content_decides_not_the_name(store: AttachmentStore, tmp_path: Path) -> None:
    chat = Conversation.new()
    name = "ab" * 20 + ".png"
    item = Attachment(kind="image", file=name, name="x", bytes=1)
    chat.add(Node(id="q", parent=None, role=Role.USER, attachments=(item,)))
    data = export.encode([chat])
    program = hostile(tmp_path, {"conversations.json": data, f"attachments/{name}": b"MZ" * 90})
    assert export.read(program, store).missing == 1
    real = hostile(tmp_path, {"conversations.json": data, f"attachments/{name}": png(4, 4)})
    kept = export.read(real, store).conversations[0].nodes["q"].attachments[0]
    assert kept.file != name
    assert store.read(kept) == png(4, 4)


def test_bombs_are_refused(
    store: AttachmentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = with_image(store)
    path = export.write(tmp_path / "out", [chat], store)
    for limit, value in (
        ("MAX_JSON_BYTES", 10),
        ("MAX_FILE_BYTES", 10),
        ("MAX_TOTAL_BYTES", 10),
        ("MAX_ENTRIES", 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(export, limit, value)
            with pytest.raises(TransferError) as caught:
                export.read(path, store)
            assert caught.value.code == "import_too_large", limit


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "import_not_ours"),
        (b"[1, 2]", "import_not_ours"),
        (b"\xff\xfe", "import_not_ours"),
        (b'{"format": "other"}', "import_not_ours"),
        (b"[" * 100_000, "import_not_ours"),
        (b'{"format": "tandem-conversations", "version": 2}', "import_newer"),
        (b'{"format": "tandem-conversations", "version": 1, "conversations": 3}', "import_damaged"),
        (b"PK\x03\x04 not a zip", "import_not_ours"),
    ],
)
def test_other_files_are_refused(
    store: AttachmentStore, tmp_path: Path, data: bytes, code: str
) -> None:
    (tmp_path / "file.json").write_bytes(data)
    with pytest.raises(TransferError) as caught:
        export.read(tmp_path / "file.json", store)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "nodes",
    [
        [("a", "b"), ("b", "a")],
        [("a", "a")],
        [("a", None), ("a", None)],
        [("a", "missing")],
        [("", None)],
    ],
)
def test_turns_that_are_no_tree_are_refused(nodes: list[tuple[str, str | None]]) -> None:
    chat = Conversation.new()
    file = json.loads(export.encode([chat]))
    file["conversations"][0]["nodes"] = [
        {"id": name, "parent": parent, "role": "user"} for name, parent in nodes
    ]
    with pytest.raises(TransferError) as caught:
        export.decode(json.dumps(file).encode())
    assert caught.value.code == "import_damaged"


def test_values_out_of_range_become_defaults() -> None:
    chat = Conversation.new(
        ChatSettings(system="kept", sampling=Sampling(top_k=-5), thinking_budget=-1)
    )
    chat.selected = {"": "nowhere"}
    (back,) = export.decode(export.encode([chat]))
    assert back.settings == ChatSettings(system="kept")
    assert back.selected == {}


def test_imports_never_overwrite() -> None:
    here, other = Conversation.new(), Conversation.new()
    changed = msgspec.structs.replace(here, title="changed elsewhere")
    fresh, same = export.resolve_clashes([here, changed, other], {here.id: here})
    assert same == 1
    assert [c.title for c in fresh] == ["changed elsewhere", ""]
    assert fresh[0].id != here.id
    assert fresh[1] == other
