"""The history store: what is saved comes back, whatever happens to the file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from app import migrations
from app.conversation import (
    Attachment,
    ChatSettings,
    Conversation,
    Node,
    Role,
    RunRecord,
    ToolStep,
    TurnStatus,
    new_id,
)
from app.history import History, OpenTabs
from app.history_rows import first_title, plain_line
from engine.types import FinishReason, Sampling, SpecMode

T = TypeVar("T")
Problems = list[tuple[str, dict[str, str]]]


def talk(*texts: str, title: str = "") -> Conversation:
    """A linear conversation, roles alternating."""
    chat = Conversation.new()
    chat.title = title or texts[0][:40]
    parent = None
    for index, text in enumerate(texts):
        role = Role.ASSISTANT if index % 2 else Role.USER
        node = Node(id=new_id(), parent=parent, role=role, text=text, created=time.time())
        chat.add(node)
        parent = node.id
    return chat


def with_history(
    path: Path, work: Callable[[History], Awaitable[T]], problems: Problems | None = None
) -> T:
    """Opens, works, closes: one session of the program."""

    async def session() -> T:
        found = [] if problems is None else problems
        history = History(path, lambda code, params: found.append((code, params)))
        await history.open()
        try:
            return await work(history)
        finally:
            await history.close()

    return asyncio.run(session())


def overwrite_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 8192))


async def until_saved(history: History) -> None:
    for _ in range(500):
        if not history.unsaved:
            return
        await asyncio.sleep(0.02)
    pytest.fail("never written")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def test_everything_of_a_conversation_comes_back(path: Path) -> None:
    chat = talk("How do I read a CSV?", "Use the **csv** module.", "And empty cells?", "Skip.")
    first, second = list(chat.nodes.values())[:2]
    first.attachments = (
        Attachment(kind="image", file="ab.png", name="ä ö.png", bytes=7, width=2, height=3),
    )
    second.thought = "hm"
    second.tool_steps = (ToolStep(name="calc", arguments_json='{"a":9007199254740993}'),)
    second.run = RunRecord(
        model="demo",
        backend="cpu",
        speculative=True,
        engine_version="0.18.1",
        reason=FinishReason.END,
        decode_tps=12.5,
    )
    version = Node(id=new_id(), parent=first.id, role=Role.ASSISTANT, text="another version")
    chat.add(version)
    chat.select(second.id)
    chat.pinned, chat.custom_title, chat.draft = True, True, "not sent yet"
    chat.draft_files = (Attachment(kind="image", file="cd.png", name="dog.png", bytes=2, width=3),)
    chat.settings = ChatSettings(
        system="Be brief.", sampling=Sampling(seed=7, top_k=1), spec=SpecMode.ON, start_at=first.id
    )

    with_history(path, lambda h: h.save_whole([chat]))
    assert with_history(path, lambda h: h.load(chat.id)) == chat
    assert with_history(path, lambda h: h.files_in_use()) >= {"cd.png"}


@pytest.mark.parametrize("text", ["a\0b", "lone \ud800 half", "\u2028line", "🙂" * 9, "x" * 2**20])
def test_any_text_survives(path: Path, text: str) -> None:
    chat = talk(text, f"answer {text}", title=text[:30])
    chat.draft = text
    chat.settings = ChatSettings(system=text)
    with_history(path, lambda h: h.save_whole([chat]))
    assert with_history(path, lambda h: h.load(chat.id)) == chat
    assert [s.title for s in with_history(path, lambda h: h.summaries())] == [text[:30]]


def test_files_are_private(path: Path) -> None:
    with_history(path, lambda h: h.save_whole([talk("secret")]))
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_streaming_answer_found_at_start_is_interrupted(path: Path) -> None:
    chat = talk("question", "half an ans")
    answer = list(chat.nodes.values())[-1]
    answer.status = TurnStatus.STREAMING
    with_history(path, lambda h: h.save(chat, chat.nodes.values()))
    again = with_history(path, lambda h: h.load(chat.id))
    assert again is not None
    assert again.nodes[answer.id].status is TurnStatus.INTERRUPTED
    assert again.nodes[answer.id].text == "half an ans"


def test_delete_hides_restore_shows_and_the_end_of_the_session_purges(path: Path) -> None:
    gone, back = talk("gone words"), talk("back words")

    async def delete(history: History) -> list[str]:
        await history.save_whole([gone, back])
        history.delete(gone.id)
        history.delete(back.id)
        assert await history.summaries() == []
        assert await history.search("words") == []
        history.restore(back.id)
        return [s.id for s in await history.summaries()]

    assert with_history(path, delete) == [back.id]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM conversation").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM node").fetchone() == (1,)
    db.close()
    hits = with_history(path, lambda h: h.search("words"))
    assert [h.conversation for h in hits] == [back.id]


def test_dropped_turns_go_and_come_back_by_undo(path: Path) -> None:
    chat = talk("one", "two", "three", "four")

    async def drop(history: History) -> None:
        await history.save_whole([chat])
        removed = chat.remove(list(chat.nodes)[2])
        history.drop_nodes(chat, [n.id for n in removed])
        loaded = await history.load(chat.id)
        assert loaded is not None
        assert [n.text for n in loaded.path()] == ["one", "two"]
        assert await history.search("three") == []
        for node in removed:
            chat.add(node)
        history.save_soon(chat, removed)

    with_history(path, drop)
    loaded = with_history(path, lambda h: h.load(chat.id))
    assert loaded is not None
    assert [n.text for n in loaded.path()] == ["one", "two", "three", "four"]


def test_a_deleted_conversation_can_be_imported_again(path: Path) -> None:
    chat = talk("one", "two", "three")
    less = Conversation(
        id=chat.id, title="less", nodes={"x": Node(id="x", parent=None, role=Role.USER)}
    )

    async def use(history: History) -> None:
        await history.save_whole([chat])
        history.delete(chat.id)
        await history.save_whole([less])
        assert await history.load(chat.id) == less
        assert await history.search("three") == []

    with_history(path, use)
    assert with_history(path, lambda h: h.load(chat.id)) == less


def test_versions_keep_their_order_after_an_undo(path: Path) -> None:
    chat = talk("question")
    root = next(iter(chat.nodes))
    for number in range(3):
        chat.add(Node(id=f"v{number}", parent=root, role=Role.ASSISTANT, created=2e9 + number))

    async def use(history: History) -> None:
        await history.save_whole([chat])
        gone = chat.remove("v0")
        history.drop_nodes(chat, ["v0"])
        await history.flush()
        chat.add(gone[0])
        history.save_soon(chat, gone)

    with_history(path, use)
    loaded = with_history(path, lambda h: h.load(chat.id))
    assert loaded is not None
    assert loaded.versions("v0") == ["v0", "v1", "v2"]


def test_search_finds_words_prefixes_titles_accents_and_no_syntax(path: Path) -> None:
    csv = talk("Parse a file", "The café list holds *sales* figures.", title="Reading CSV")
    cjk = talk("天気は？", "今日は天気がいいです。")

    async def search(history: History) -> None:
        await history.save_whole([csv, cjk])
        for query in ("cafe", "SALES fig", "csv", 'the "list"', "sal* OR"):
            hits = await history.search(query.replace("OR", ""))
            assert [h.conversation for h in hits] == [csv.id], query
        hit = (await history.search("sales"))[0]
        start, length = hit.marks[0]
        assert hit.snippet[start : start + length] == "sales"
        assert hit.node == list(csv.nodes)[1]
        assert [h.conversation for h in await history.search("天気")] == [cjk.id]
        assert (await history.search("天気"))[0].marks
        both = (await history.search("reading"))[0]
        assert both.node == ""
        for nothing in ("", "  ", '"', "NEAR(", "zzz", "-*-", "\0"):
            assert await history.search(nothing) == [], nothing

    with_history(path, search)


def test_open_tabs_come_back(path: Path) -> None:
    async def set_tabs(history: History) -> None:
        history.set_open_tabs(OpenTabs(("a", "b"), "b"))

    with_history(path, set_tabs)
    assert with_history(path, lambda h: h.open_tabs()) == OpenTabs(("a", "b"), "b")


def test_a_newer_major_is_shown_but_not_touched(path: Path) -> None:
    chat = talk("from the future")
    with_history(path, lambda h: h.save_whole([chat]))
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {(migrations.MAJOR + 1) * 100}")
    db.close()
    before = path.read_bytes()
    problems: Problems = []

    async def use(history: History) -> None:
        assert [s.id for s in await history.summaries()] == [chat.id]
        assert await history.load(chat.id) == chat
        await history.save_whole([talk("not kept")])
        assert not history.persistent

    with_history(path, use, problems)
    assert [code for code, _ in problems] == ["history_newer"]
    assert path.read_bytes() == before


def test_a_newer_minor_is_used(path: Path) -> None:
    with_history(path, lambda h: h.save_whole([talk("one")]))
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
        db.execute("ALTER TABLE conversation ADD COLUMN later TEXT DEFAULT ''")
    db.close()
    problems: Problems = []
    with_history(path, lambda h: h.save_whole([talk("two")]), problems)
    assert problems == []
    assert len(with_history(path, lambda h: h.summaries())) == 2


def test_an_old_file_is_migrated(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path, isolation_level=None)
    for statement in migrations.STEPS[0][1]:
        db.execute(statement)
    db.execute("PRAGMA user_version = 100")
    db.execute("INSERT INTO conversation (id, title) VALUES ('x', 'old')")
    db.close()
    assert [s.title for s in with_history(path, lambda h: h.summaries())] == ["old"]
    with sqlite3.connect(path) as db:
        assert migrations.version(db) == migrations.VERSION
    db.close()


def test_a_damaged_file_of_an_older_program_is_rescued(path: Path) -> None:
    path.parent.mkdir()
    db = sqlite3.connect(path, isolation_level=None)
    for statement in migrations.STEPS[0][1]:
        db.execute(statement)
    db.execute("PRAGMA user_version = 100")
    for number in range(300):
        db.execute("INSERT INTO conversation (id, title) VALUES (?, 'x')", (f"c{number}",))
        row = (f"c{number}", f"n{number}", f"text {number} " * 60)
        db.execute(
            "INSERT INTO node (conversation, id, role, status, text)"
            " VALUES (?, ?, 'user', 'done', ?)",
            row,
        )
    db.close()
    # In the middle of the turns: the new index cannot be made, so the file stays an old one.
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096)
    problems: Problems = []
    kept = with_history(path, lambda h: h.load_all(), problems)
    assert [code for code, _ in problems] == ["history_damaged"]
    assert len([c for c in kept if c.title == "x"]) == 300
    assert len([c for c in kept if c.nodes]) > 200


def test_what_stayed_empty_is_forgotten_at_the_end(path: Path) -> None:
    empty, drafted, named, files = (Conversation.new() for _ in range(4))
    drafted.draft = "half a thought"
    named.title, named.custom_title = "Kept by name", True
    files.draft_files = (Attachment(kind="image", file="ab.png", name="cat.png", bytes=1),)
    with_history(path, lambda h: h.save_whole([empty, drafted, named, files]))
    kept = {s.id for s in with_history(path, lambda h: h.summaries())}
    assert kept == {drafted.id, named.id, files.id}


def test_a_file_that_is_no_database_is_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 500)
    problems: Problems = []
    with_history(path, lambda h: h.save_whole([talk("fresh start")]), problems)
    assert [code for code, _ in problems] == ["history_damaged"]
    aside = Path(problems[0][1]["path"])
    assert aside.read_bytes() == b"not a database at all" * 500
    assert len(with_history(path, lambda h: h.summaries())) == 1


def test_readable_rows_of_a_damaged_file_are_rescued(path: Path) -> None:
    chats = [talk(f"question {i}", f"answer {i} " * 200) for i in range(60)]

    async def fill(history: History) -> None:
        await history.save_whole(chats)

    with_history(path, fill)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE value SET data = '0' WHERE name = 'clean'")
    db.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 3)
    problems: Problems = []
    kept = with_history(path, lambda h: h.load_all(), problems)
    assert [code for code, _ in problems] == ["history_damaged"]
    assert Path(problems[0][1]["path"]).stat().st_size == size
    originals = {c.id: c for c in chats}
    whole = [c for c in kept if c.nodes and originals[c.id].nodes.keys() == c.nodes.keys()]
    assert len(whole) >= 30
    for chat in whole:
        assert chat.nodes == originals[chat.id].nodes


def test_an_unwritable_folder_means_memory_and_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    problems: Problems = []

    async def use(history: History) -> int:
        await history.save_whole([talk("kept while running")])
        return len(await history.summaries())

    assert with_history(tmp_path / "file" / "h.sqlite3", use, problems) == 1
    assert [code for code, _ in problems] == ["history_unwritable"]


def test_a_file_that_cannot_be_written_is_shown_and_new_text_kept_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, new = talk("old words"), talk("new words")
    problems: Problems = []
    with_history(path, lambda h: h.save_whole([chat]))
    before = path.read_bytes()

    def refuse(_self: object) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("app.history_worker.HistoryDatabase._open_file", refuse)

    async def use(history: History) -> None:
        assert not history.persistent
        assert await history.load(chat.id) == chat
        assert [h.conversation for h in await history.search("old")] == [chat.id]
        await history.save_whole([new])
        assert await history.load(new.id) == new

    with_history(path, use, problems)
    assert [code for code, _ in problems] == ["history_read_only"]
    assert path.read_bytes() == before


def test_a_folder_that_takes_no_file_means_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems: Problems = []

    def refuse(*_args: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("app.history_worker.os.open", refuse)
        with_history(path, lambda h: h.save_whole([talk("x")]), problems)
    assert [code for code, _ in problems] == ["history_unwritable"]


def test_a_disk_without_modes_is_no_problem(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    chat = talk("kept")
    problems: Problems = []
    with_history(path, lambda h: h.save_whole([chat]), problems)
    assert problems == []
    assert with_history(path, lambda h: h.load(chat.id)) == chat


def test_a_locked_file_is_told_once_and_written_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.history_worker.BUSY_SECONDS", 0.02)
    monkeypatch.setattr("app.history.RETRY_SECONDS", 0.05)
    chat = talk("precious")
    problems: Problems = []

    async def use(history: History) -> None:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        assert not await history.save(chat, chat.nodes.values())
        assert history.unsaved
        chat.draft = "and more"
        assert not await history.save(chat)
        blocker.execute("COMMIT")
        blocker.close()
        await until_saved(history)

    with_history(path, use, problems)
    assert [code for code, _ in problems] == ["history_not_saved", "history_saved_again"]
    assert with_history(path, lambda h: h.load(chat.id)) == chat


def test_a_full_disk_keeps_the_data_and_writes_it_when_there_is_room(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.history.RETRY_SECONDS", 0.05)
    chat = talk("big " * 100_000)
    problems: Problems = []

    async def use(history: History) -> None:
        database = history._database
        await history._run(lambda: database.db.execute("PRAGMA max_page_count = 30"))
        assert not await history.save(chat, chat.nodes.values())
        assert await history.summaries() == []
        await history._run(lambda: database.db.execute("PRAGMA max_page_count = 1000000"))
        await until_saved(history)

    with_history(path, use, problems)
    assert [code for code, _ in problems] == ["history_not_saved", "history_saved_again"]
    assert with_history(path, lambda h: h.load(chat.id)) == chat


def test_damage_while_running_is_repaired_in_place(path: Path) -> None:
    problems: Problems = []

    async def use(history: History) -> int:
        await history.save_whole([talk(f"text {i} " * 300) for i in range(40)])
        database = history._database
        await history._run(lambda: database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        await history._run(lambda: database.db.execute("PRAGMA cache_size = 1"))
        overwrite_pages(path)
        await history.save_whole([talk("after the damage")])
        return len(await history.search("damage"))

    assert with_history(path, use, problems) == 1
    assert problems[0][0] == "history_damaged"


def test_a_second_program_shares_the_file_and_repairs_nothing(path: Path) -> None:
    mine, theirs = talk("mine", "streaming"), talk("theirs")
    list(mine.nodes.values())[-1].status = TurnStatus.STREAMING

    async def both(first: History) -> None:
        await first.save(mine, mine.nodes.values())
        second = History(path)
        await second.open()
        await second.save_whole([theirs])
        loaded = await second.load(mine.id)
        assert loaded == mine  # still streaming: not ours to call interrupted
        await second.close()
        assert {s.id for s in await first.summaries()} == {mine.id, theirs.id}

    with_history(path, both)


def test_one_impossible_value_does_not_hold_up_the_rest(path: Path) -> None:
    good, bad = talk("good"), talk("bad")
    bad.pinned = 2**70  # type: ignore[assignment]

    async def use(history: History) -> None:
        await history.save_whole([bad, good])
        assert not history.unsaved

    with_history(path, use)
    assert good.id in [s.id for s in with_history(path, lambda h: h.summaries())]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# How do I *read* a CSV?", "How do I read a CSV?"),
        ("\n\n  \nsecond line", "second line"),
        ("word " * 40, "word word word word word word word word word…"),
        ("[link](http://x) and `code`", "link and code"),
        ("a\0b \ud800", "a b ?"),
    ],
)
def test_titles_come_from_the_first_message(text: str, title: str) -> None:
    assert first_title(talk(text, title="x")) == title


def test_a_title_of_only_an_image_is_its_name() -> None:
    chat = talk("", title="x")
    next(iter(chat.nodes.values())).attachments = (
        Attachment(kind="image", file="ab.png", name="cat.png", bytes=1),
    )
    assert first_title(chat) == "cat.png"
    assert plain_line("", 10) == ""


KILLED = """
import asyncio, sys
from pathlib import Path
from app.conversation import Conversation, Node, Role, TurnStatus
from app.history import History

async def main(path, start):
    history = History(Path(path))
    await history.open()
    for number in range(start, start + 10_000):
        chat = Conversation.new()
        chat.title = f"chat {number}"
        chat.add(Node(id=f"q{number}", parent=None, role=Role.USER, text=f"q {number} " * 50))
        answer = Node(id=f"a{number}", parent=f"q{number}", role=Role.ASSISTANT,
                      status=TurnStatus.STREAMING)
        chat.add(answer)
        for step in range(3):
            answer.text += f"step {step} " * 40
            assert await history.save(chat, chat.nodes.values())
            print(chat.id, number, step, flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def test_kill_minus_nine_while_saving_loses_nothing_that_was_acknowledged(path: Path) -> None:
    import subprocess

    seen: dict[str, int] = {}
    for round_number in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(round_number * 100_000)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert child.stdout is not None
        for count, line in enumerate(child.stdout):
            if line.endswith("\n"):  # the last one may be cut by the kill
                name, _, done = line.split()
                seen[name] = int(done)
            if count == 4 + 7 * round_number:
                child.kill()
        child.wait()
        child.stdout.close()
        problems: Problems = []
        kept = {c.id: c for c in with_history(path, lambda h: h.load_all(), problems)}
        assert problems == []
        for name, step in seen.items():
            question, answer = kept[name].path()
            assert question.text
            assert answer.text.startswith("".join(f"step {s} " * 40 for s in range(step + 1)))
            assert answer.status is TurnStatus.INTERRUPTED
