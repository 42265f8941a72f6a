"""Hours of use in minutes: `python -m tests.bench.soak --minutes 30 [--seed N] [--output FILE]`.

A random walk over the real window with the real engine (`soak_walk`). Prints JSON: how often
each action ran, crashes of the program, event-loop gaps over 2 s with the stack that caused
them, answers that never ended, exceptions, Qt warnings, processes, threads and open files
left behind, memory over time of the window's and the engine's process. Exit 1 when anything
was wrong. Starts Xvfb where there is no display.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from app.gui import Program

HANG_S = 2.0
STUCK_S = 120.0
BEAT_S = 0.05
SAMPLE_S = 5.0


class Records(logging.Handler):
    """Keeps what the program logs as an error: these are exceptions nobody handled."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info))[-1500:]
        self.texts[text] += 1


class Pulse:
    """Notices from a thread of its own when the event loop stands still."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._last = time.monotonic()
        self._cpu = time.thread_time()
        self.worst = self.worst_cpu = 0.0
        self._over = threading.Event()
        self._main = threading.get_ident()
        self.gaps: list[float] = []
        self.hangs: list[dict[str, Any]] = []
        self.doing = ""
        self._beat()
        self._thread = threading.Thread(target=self._watch, name="pulse", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        now, cpu = time.monotonic(), time.thread_time()
        self.gaps.append(now - self._last)
        if self.gaps[-1] > HANG_S:
            self.worst, self.worst_cpu = self.gaps[-1], round(cpu - self._cpu, 1)
        self._last, self._cpu = now, cpu
        if not self._over.is_set():
            self._loop.call_later(BEAT_S, self._beat)

    def _watch(self) -> None:
        told = 0.0
        while not self._over.wait(0.1):
            last = self._last
            gap = time.monotonic() - last
            if gap > HANG_S and told != last:
                told = last
                frame = sys._current_frames().get(self._main)
                stack = "".join(traceback.format_stack(frame)[-6:]) if frame else ""
                load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
                self.hangs.append({"doing": self.doing, "stack": stack, "load": load, "last": last})
            elif self.hangs and self.hangs[-1].get("last") not in (None, last):
                # It goes on: how long it stood, and how much of that it worked itself.
                del self.hangs[-1]["last"]
                self.hangs[-1] |= {"seconds": round(self.worst, 1), "cpu_s": self.worst_cpu}

    def end(self) -> None:
        self._over.set()
        self._thread.join()


class Soak:
    """One run; `report` holds what was seen."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder = args, folder
        self.report: dict[str, Any] = {"seed": args.seed, "wrong": []}
        self.actions: Counter[str] = Counter()
        self.samples: list[dict[str, float]] = []
        self._busy_since: dict[str, float] = {}
        self.own = psutil.Process()

    async def script(self, program: Program) -> None:
        import resources
        from tests.bench.soak_walk import Walker
        from tests.fakes.pictures import png
        from tests.fakes.variants import make_variant

        loop = asyncio.get_running_loop()
        plain = self.folder / "plain.litertlm"
        await loop.run_in_executor(
            None, lambda: make_variant(resources.DEMO_MODEL, plain, plain=True)
        )
        broken = self.folder / "broken.litertlm"
        broken.write_bytes(resources.DEMO_MODEL.read_bytes()[: 2 << 20])
        (self.folder / "cat.png").write_bytes(png(20, 20))
        program.window.resize(1100, 760)
        walker = Walker(
            program,
            random.Random(self.args.seed),
            [str(resources.DEMO_MODEL), str(plain)],
            str(broken),
            self.folder,
        )
        pulse = Pulse(loop)
        end = time.monotonic() + self.args.minutes * 60
        sampled = 0.0
        begun = time.monotonic()
        trail = self.args.trail.open("w", encoding="utf-8") if self.args.trail else None
        while time.monotonic() < end:
            try:
                pulse.doing = name = await walker.step()
                if trail is not None:
                    print(f"{time.monotonic() - begun:.1f} {name}", file=trail, flush=True)
            except Exception:
                self._wrong("an action failed: " + traceback.format_exc()[-1500:])
                name = "failed"
            self.actions[name] += 1
            self._look_for_stuck(program)
            if time.monotonic() - sampled > SAMPLE_S:
                sampled = time.monotonic()
                self._sample(program, sampled - begun)
            await asyncio.sleep(walker.rng.uniform(0, 0.15))
        if trail is not None:
            trail.close()
        await self._last_answer(program)
        pulse.end()
        self.report["engine_kills"] = walker.kills
        gaps = sorted(pulse.gaps)
        self.report["loop_gap_s"] = {
            "p50": round(statistics.median(gaps), 3),
            "p99": round(gaps[int(len(gaps) * 0.99)], 3),
            "max": round(gaps[-1], 3),
        }
        self.report["hangs"] = pulse.hangs
        self.quit_at = time.monotonic()

    quit_at = 0.0

    def _wrong(self, text: str) -> None:
        self.report["wrong"].append(text)

    def _look_for_stuck(self, program: Program) -> None:
        now = time.monotonic()
        busy = {c.key: c for c in program.services.chats.chats if c.busy}
        self._busy_since = {k: self._busy_since.get(k, now) for k in busy}
        for key, since in self._busy_since.items():
            # Several chats wait for one engine, so a queue is no fault.
            if now - since > STUCK_S and str(busy[key].state) != "queued":
                self._wrong(f"answer not finished for {STUCK_S} s in state {busy[key].state}")
                self._busy_since[key] = now

    def _sample(self, program: Program, at: float) -> None:
        loaded = program.services.state.loaded
        engine = 0
        if loaded is not None:
            try:
                engine = psutil.Process(loaded.pid).memory_info().rss
            except psutil.Error:
                engine = 0
        handles = self.own.num_fds() if hasattr(self.own, "num_fds") else self.own.num_handles()
        self.samples.append(
            {
                "s": round(at),
                "gui_mb": round(self.own.memory_info().rss / 2**20, 1),
                "engine_mb": round(engine / 2**20, 1),
                "handles": handles,
                "threads": self.own.num_threads(),
                "children": len(self.own.children(recursive=True)),
                "tabs": len(program.services.chats.chats),
            }
        )

    async def _last_answer(self, program: Program) -> None:
        """After all that the program must still answer."""
        from app.engine_state import Phase
        from tests.e2e.scenarios import Person

        me = Person(program)
        await program.services.chats.stop_all()
        me.window.select_tab("chat")
        me.window.action("new_chat").trigger()
        if program.services.state.phase is not Phase.READY:
            program.services.models.restart()
            await me.until(lambda: program.services.state.phase is Phase.READY, 60)
        if not me.chat.send("Say OK."):
            self._wrong("the last message could not be sent")
        await me.until(lambda: not me.chat.busy, 90)
        if not me.last().text:
            self._wrong(f"no last answer: {me.where()}")


def judge(soak: Soak, records: Records, qt: Counter[str], before: dict[str, Any]) -> None:
    """Adds what is left behind and what grew."""
    report = soak.report
    report["quit_s"] = round(time.monotonic() - soak.quit_at, 2)
    time.sleep(0.5)
    left = [c for c in soak.own.children(recursive=True) if c.pid not in before["children"]]
    report["left_children"] = [
        c.cmdline() for c in left if "resource_tracker" not in " ".join(c.cmdline())
    ]
    names = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    report["left_threads"] = names
    report["errors"] = dict(records.texts)
    report["qt_warnings"] = dict(qt)
    report["actions"] = dict(soak.actions.most_common())
    report["steps"] = sum(soak.actions.values())
    samples = soak.samples
    if len(samples) >= 8:
        third = max(1, len(samples) // 4)
        early, late = samples[third : 2 * third], samples[-third:]
        report["growth"] = {
            key: [
                round(statistics.median(s[key] for s in early), 1),
                round(statistics.median(s[key] for s in late), 1),
            ]
            for key in ("gui_mb", "engine_mb", "handles", "threads", "children")
        }
    step = max(1, len(samples) // 60)
    report["samples"] = samples[::step]
    # On a machine with more work than cores the loop also stands because nobody runs it.
    cores = os.cpu_count() or 1
    own = [h for h in report["hangs"] if h.get("cpu_s", HANG_S) >= HANG_S or h["load"] < cores]
    if own:
        soak.report["wrong"].append(f"hangs that are the program's own: {len(own)}")
    for key in ("left_children", "left_threads", "errors", "qt_warnings"):
        if report.get(key):
            soak.report["wrong"].append(f"{key}: {len(report[key])}")
    if report["quit_s"] > 5:
        soak.report["wrong"].append(f"quitting took {report['quit_s']} s")


def virtual_screen() -> subprocess.Popen[bytes] | None:
    if sys.platform != "linux" or os.environ.get("DISPLAY"):
        return None
    binary = shutil.which("Xvfb")
    if binary is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        return None
    reading, writing = os.pipe()
    screen = subprocess.Popen(
        [binary, "-displayfd", str(writing), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        os.environ["DISPLAY"] = f":{answer.readline().strip()}"
    os.environ["QT_QPA_PLATFORM"] = "xcb"
    return screen


def main() -> int:
    parser = argparse.ArgumentParser(description="a random walk over the real window")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--trail", type=Path, help="each action is written here at once")
    args = parser.parse_args()
    screen = virtual_screen()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["TANDEM_HOME"] = str(Path(folder) / "home")
        os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
        soak = Soak(args, Path(folder))
        records = Records()
        logging.getLogger().addHandler(records)
        try:
            qt = _walk(soak)
        finally:
            logging.getLogger().removeHandler(records)
            if screen is not None:
                screen.terminate()
                screen.wait()
        if "hangs" in soak.report:  # else the walk never began, and `wrong` says why
            judge(soak, records, qt, {"children": set()})
    soak.report["minutes"] = round((time.monotonic() - started) / 60, 1)
    text = json.dumps(soak.report, indent=1, ensure_ascii=False)
    print(text)
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    return 1 if soak.report["wrong"] else 0


def _walk(soak: Soak) -> Counter[str]:
    from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

    from app import gui

    qt: Counter[str] = Counter()

    def told(kind: QtMsgType, _where: QMessageLogContext, text: str) -> None:
        if kind is not QtMsgType.QtDebugMsg:
            qt[text] += 1

    qInstallMessageHandler(told)
    try:
        gui.main(None, soak.script)
    except Exception:
        soak.report["wrong"].append("the program ended: " + traceback.format_exc()[-2000:])
    finally:
        qInstallMessageHandler(None)
    return qt


if __name__ == "__main__":
    sys.exit(main())
