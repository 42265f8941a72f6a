"""Figures of drawing alone, without an engine: `python tests/bench/ui_stream.py`.

Prints JSON: event-loop gaps and share of one core while 1 000 tokens/s of Markdown stream
in; time to open 1 000 messages; largest gap while a 1 MB answer appears; import and first
window time in a fresh process. Seconds and milliseconds as named.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

PARAGRAPH = (
    "Some *text* with **bold** words, `code` and a [link](https://example.org). "
    "It goes on for a while so that lines wrap on the column.\n\n"
)
BLOCKS = (
    PARAGRAPH,
    "- first item\n- second item with `code`\n  - nested\n- third\n\n",
    "```python\nimport csv\nfor i in range(10):\n    print(i, 'text')\n```\n\n",
    "| a | b |\n| --- | ---: |\n| 1 | 2 |\n| 3 | 4 |\n\n",
    "## A heading\n\n",
)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure() -> dict[str, object]:
    from PySide6.QtCore import QCoreApplication, QEvent, QTimer
    from PySide6.QtWidgets import QApplication

    from ui.code_highlighter import warm_up
    from ui.main_window import MainWindow
    from ui.theme import theme
    from ui.views import TabView, TurnView

    app = QApplication.instance() or QApplication([])
    theme().apply(mode="light")
    warm_up()
    window = MainWindow()
    page = window.chat.add_conversation(TabView(key="a", title="x"))
    window.show()
    gaps: list[float] = []
    last = [time.perf_counter()]

    def beat() -> None:
        now = time.perf_counter()
        gaps.append((now - last[0]) * 1000)
        last[0] = now

    timer = QTimer()
    timer.timeout.connect(beat)
    timer.start(0)

    def spin(seconds: float, work: Callable[[], bool] = lambda: True) -> None:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until and work():
            app.processEvents()
            # Without a running loop nothing is deleted later: it would be restyled for ever.
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            time.sleep(0.0002)

    text = "".join(BLOCKS[i % len(BLOCKS)] for i in range(400))
    tokens = [text[i : i + 4] for i in range(0, len(text), 4)]
    page.set_turns([TurnView(node_id="u", role="user", text="go")])
    page.append_turn(TurnView(node_id="a", role="assistant", status="streaming"))
    spin(0.3)
    gaps.clear()
    sent = [0]
    start = time.perf_counter()
    busy = time.process_time()
    seconds = min(8.0, len(tokens) / 1000)

    def feed() -> bool:
        due = int((time.perf_counter() - start) * 1000)
        while sent[0] < min(due, len(tokens)):
            upto = min(sent[0] + 10, len(tokens))
            page.stream("a", "".join(tokens[sent[0] : upto]))
            sent[0] = upto
        return sent[0] < len(tokens)

    timer.stop()
    timer.start(2)
    last[0] = time.perf_counter()
    spin(seconds, feed)
    cpu = time.process_time() - busy
    wall = time.perf_counter() - start
    out: dict[str, object] = {
        "stream_tokens": sent[0],
        "gap_p50_ms": round(quantile(gaps, 0.5), 2),
        "gap_p99_ms": round(quantile(gaps, 0.99), 2),
        "gap_max_ms": round(max(gaps), 2),
        "cpu_share": round(cpu / wall, 3),
    }
    turns = [
        TurnView(
            node_id=f"n{i}",
            role="user" if i % 2 == 0 else "assistant",
            text=PARAGRAPH if i % 2 == 0 else BLOCKS[i % len(BLOCKS)] * 3,
        )
        for i in range(1000)
    ]
    begin = time.perf_counter()
    page.set_turns(turns)
    app.processEvents()
    out["open_1000_ms"] = round((time.perf_counter() - begin) * 1000, 1)
    gaps.clear()
    last[0] = time.perf_counter()
    spin(2.0)
    out["open_1000_gap_max_ms"] = round(max(gaps), 1)
    bar = page.transcript.verticalScrollBar()
    gaps.clear()
    last[0] = time.perf_counter()
    spin(2.0, lambda: bar.setValue(bar.value() - 120) is None)
    out["scroll_gap_p99_ms"] = round(quantile(gaps, 0.99), 1)
    out["scroll_gap_max_ms"] = round(max(gaps), 1)
    big = "".join(BLOCKS[i % len(BLOCKS)] for i in range(11_000))[:1_000_000]
    gaps.clear()
    last[0] = time.perf_counter()
    begin = time.perf_counter()
    page.set_turns([TurnView(node_id="b", role="assistant", text=big)])
    spin(60, lambda: bool(page.transcript._dirty))
    out["one_mb_s"] = round(time.perf_counter() - begin, 2)
    out["one_mb_gap_max_ms"] = round(max(gaps), 1)
    begin = time.perf_counter()
    theme().apply(mode="dark")
    app.processEvents()
    out["theme_change_1mb_ms"] = round((time.perf_counter() - begin) * 1000, 1)
    window.allow_close()
    window.close()
    out["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
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


def main() -> int:
    started = subprocess.run(
        [sys.executable, "-c", _START], cwd=ROOT, capture_output=True, text=True, check=True
    )
    qt, ours, shown = (int(x) for x in started.stdout.split())
    figures = measure()
    figures |= {"import_qt_ms": qt, "import_ui_ms": ours, "window_ms": shown}
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
