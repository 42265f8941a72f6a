"""Prints how long the history takes: open, list, search, sidebar, one long chat.

    python -m tests.bench.history [count ...]

Not a test: nothing is asserted. Times are milliseconds of wall clock on this machine, whose
load is told; frames of a page are told in CPU time of the thread too.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from app.conversation import Conversation, Node, Role, new_id
from app.history import History
from ui.conversation_page import ConversationPage
from ui.sidebar import Sidebar
from ui.sidebar_model import ChatItem
from ui.views import TurnView

WORDS = (  # noqa: SIM905
    "the sea a river glacier mountain train engine steam csv column python function answer "
    "question table value speed token draft model context window search history light dark"
).split()
TURNS = 8


def made_up(rng: random.Random, turns: int, age: float) -> Conversation:
    chat = Conversation.new()
    chat.updated = chat.created = time.time() - age
    parent = None
    for number in range(turns):
        role = Role.ASSISTANT if number % 2 else Role.USER
        size = 120 if number % 2 else 20
        text = " ".join(rng.choices(WORDS, k=size))
        node = Node(id=new_id(), parent=parent, role=role, text=text, created=chat.created)
        chat.add(node)
        parent = node.id
    chat.title = " ".join(rng.choices(WORDS, k=5))
    chat.updated = chat.created
    return chat


async def timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    if asyncio.iscoroutine(result):
        result = await result
    return (time.perf_counter() - began) * 1000, result


async def page_of(chat: Conversation) -> str:
    """A conversation in its page: until it is drawn, and frames while scrolling through."""
    turns = [TurnView(node_id=n.id, role=str(n.role), text=n.text) for n in chat.path()]
    page = ConversationPage(chat.id)
    page.resize(1000, 760)
    page.show()
    opened, _ = await timed(lambda: (page.set_turns(turns), page.grab()))
    bar = page.transcript.verticalScrollBar()
    frames, spent = [], []
    for step in range(60):
        busy = time.thread_time()
        bar.setValue(bar.maximum() * (60 - step) // 60)
        QApplication.processEvents()
        ms, _ = await timed(page.grab)
        frames.append(ms)
        spent.append((time.thread_time() - busy) * 1000)
    page.close()
    return (
        f"{len(turns):6d} turns in a page | open {opened:6.1f} | "
        f"scroll frame {statistics.median(frames):5.1f} (max {max(frames):5.1f}) | "
        f"CPU of a frame and its events {statistics.median(spent):5.1f} (max {max(spent):5.1f})"
    )


async def measure(count: int) -> None:
    rng = random.Random(count)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite3"
        history = History(path)
        await history.open()
        began = time.perf_counter()
        long = made_up(rng, 1000, 5.0)
        await history.save_whole([long])
        for start in range(0, count - 1, 500):
            size = min(500, count - 1 - start)
            await history.save_whole(made_up(rng, TURNS, 60.0 * (start + n)) for n in range(size))
        filled = (time.perf_counter() - began) * 1000
        await history.close()
        size_mb = path.stat().st_size / 1e6

        history = History(path)
        opened, _ = await timed(history.open)
        listed, summaries = await timed(history.summaries)
        assert isinstance(summaries, list)
        searches = []
        for query in ("glacier", "steam eng", "python function column", "zzz"):
            ms, _ = await timed(lambda q=query: history.search(q))  # type: ignore[misc]
            searches.append(ms)
        loaded, chat = await timed(lambda: history.load(long.id))
        assert isinstance(chat, Conversation)
        saves = []
        for _ in range(20):
            node = list(chat.nodes.values())[-1]
            node.text += " more"
            ms, _ = await timed(lambda n=node: history.save(chat, [n]))  # type: ignore[misc]
            saves.append(ms)
        await history.close()

        side = Sidebar()
        side.resize(248, 800)
        side.show()
        items = [
            ChatItem(id=s.id, title=s.title, updated=s.updated, pinned=s.pinned) for s in summaries
        ]
        filled_side, _ = await timed(lambda: (side.set_items(items), side.grab()))
        frames = []
        bar = side.list.verticalScrollBar()
        for step in range(60):
            bar.setValue(bar.maximum() * step // 60)
            ms, _ = await timed(side.grab)
            frames.append(ms)
        side.close()
    print(
        f"{count:6d} chats {size_mb:7.1f} MB | fill {filled:8.0f} | open {opened:6.1f} | "
        f"list {listed:6.1f} | search {statistics.median(searches):6.1f} "
        f"(max {max(searches):6.1f}) | load 1000 turns {loaded:6.1f} | "
        f"save a turn {statistics.median(saves):5.1f} | sidebar {filled_side:6.1f} | "
        f"scroll frame {statistics.median(frames):5.1f} (max {max(frames):5.1f})",
        flush=True,
    )


def main() -> None:
    app = QApplication.instance() or QApplication([])
    counts = [int(a) for a in sys.argv[1:]] or [100, 1_000, 10_000]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"all times in ms; load {load} on {os.cpu_count()} cores")
    for count in counts:
        asyncio.run(measure(count))
    for turns in (20, 1000):
        print(asyncio.run(page_of(made_up(random.Random(turns), turns, 0.0))), flush=True)
    del app


if __name__ == "__main__":
    main()
