"""Figures of drawing alone, without an engine: `python tests/bench/ui_stream.py [case ...]`.

Each case runs in a process of its own: `chat` streams 1 000 tokens/s of Markdown and scrolls
through 1 000 turns; the others (see `ui_cases`) open, stream, scroll, resize, restyle and zoom
one answer of a megabyte. `start` times imports and the first window. Prints a line per
operation: the longest gap of the event loop, its 99th percentile, both in wall time and in
CPU time of the thread (in `scroll` and `jump`: CPU time of a frame), seconds in all. `--json`
prints JSON instead.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.bench.ui_cases import BLOCKS, CASES, PARAGRAPH  # noqa: E402

LONGEST = 40.0
Line = dict[str, float]


def chat() -> dict[str, Line]:
    """An answer of an ordinary length streams; a thousand turns."""
    from tests.bench.ui_probe import Probe
    from ui.theme import theme
    from ui.views import TurnView

    probe = Probe()
    text = "".join(BLOCKS[i % len(BLOCKS)] for i in range(400))
    out = {"stream 1000/s": probe.stream(text, 1000, 8.0).summary()}
    turns = [
        TurnView(
            node_id=f"n{i}",
            role="user" if i % 2 == 0 else "assistant",
            text=PARAGRAPH if i % 2 == 0 else BLOCKS[i % len(BLOCKS)] * 3,
        )
        for i in range(1000)
    ]
    page = probe.page
    out["open 1000 turns"] = probe.gaps(lambda: page.set_turns(turns), LONGEST, 2.0).summary()
    bar = page.transcript.verticalScrollBar()
    steps = probe.frames(6.0, lambda: bar.setValue(bar.value() - 120))
    out["scroll"] = steps.summary()
    out["resize"] = probe.gaps(lambda: probe.window.resize(690, 800), LONGEST).summary()
    out["theme"] = probe.gaps(lambda: theme().apply(mode="dark"), LONGEST).summary()
    out["zoom"] = probe.gaps(lambda: theme().apply(scale=1.25), LONGEST).summary()
    probe.close()
    return out


def one_answer(name: str) -> dict[str, Line]:
    """One long answer, opened from the history and streamed."""
    from tests.bench.ui_probe import Probe
    from ui.theme import theme
    from ui.views import TurnView

    text = CASES[name](1_000_000)
    probe = Probe()
    page, window = probe.page, probe.window
    bar = page.transcript.verticalScrollBar()
    turn = TurnView(node_id="b", role="assistant", text=text)
    out = {"open": probe.gaps(lambda: page.set_turns([turn]), LONGEST).summary()}
    out["scroll"] = probe.frames(4.0, lambda: bar.setValue(bar.value() - 120)).summary()
    rng = random.Random(1)

    def jump() -> None:
        if rng.random() < 0.2:
            bar.setValue(rng.randrange(max(1, bar.maximum())))

    out["jump"] = probe.frames(3.0, jump).summary()
    widths = iter((760, 720, 690, 660))  # the column has less than its full width
    wide = lambda: window.resize(next(widths), 800)  # noqa: E731
    resized = [probe.gaps(wide, LONGEST) for _ in range(4)]
    out["resize"] = max((r.summary() for r in resized), key=lambda s: s["cpu_max_ms"])
    out["theme"] = probe.gaps(lambda: theme().apply(mode="dark"), LONGEST).summary()
    out["zoom"] = probe.gaps(lambda: theme().apply(scale=1.25), LONGEST).summary()
    theme().apply(mode="light", scale=1.0)
    out["stream"] = probe.stream(text, 25_000, LONGEST).summary()
    probe.close()
    out["memory"] = {"rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
    return out


_START = """
import time; t=time.perf_counter()
from PySide6.QtWidgets import QApplication
a=QApplication([]); t1=time.perf_counter()
from ui.theme import theme; from ui.main_window import MainWindow; from ui.views import TabView
t2=time.perf_counter(); theme().apply(); w=MainWindow()
w.chat.add_conversation(TabView(key='a',title='x'))
w.show(); a.processEvents(); t3=time.perf_counter()
print(round((t1-t)*1000), round((t2-t1)*1000), round((t3-t2)*1000))
"""


def start() -> dict[str, Line]:
    started = subprocess.run(
        [sys.executable, "-c", _START], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = ("import_qt_ms", "import_ui_ms", "window_ms")
    return {"start": dict(zip(names, map(float, started.stdout.split()), strict=True))}


def main() -> int:
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if "--here" in sys.argv:
        print(
            json.dumps({"chat": chat, "start": start}.get(args[0], lambda: one_answer(args[0]))())
        )
        return 0
    figures: dict[str, dict[str, Line]] = {}
    for name in args or ["start", "chat", *CASES]:
        command = [sys.executable, __file__, name, "--here"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: ended with {done.returncode}\n{done.stderr[-2000:]}")
            continue
        figures[name] = json.loads(done.stdout.splitlines()[-1])
        if "--json" not in sys.argv:
            for what, line in figures[name].items():
                words = "  ".join(f"{k} {v:8.1f}" for k, v in line.items())
                print(f"{name:10} {what:16} {words}", flush=True)
    if "--json" in sys.argv:
        print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
