"""What the window costs, on one machine in one run: `python tests/bench/overhead.py`.

Prints JSON: decode tok/s (the engine's own figure, median over the prompts) of a bare cffi
loop in one process, of `HostedEngine` and of the full window, with their ratios; key press
to the first paint of the answer's text minus TTFT; event-loop gaps while streaming; start to
visible window; resident memory of the window's process when the model is loaded, after many
answers and after all conversations were closed. Needs a display or Xvfb. Run it on a quiet
machine; `--model` takes another file, `--rounds` and `--answers` less or more, `--only` some of
the parts (`--only memory` needs no quiet).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import resources  # noqa: E402
from engine import threads  # noqa: E402
from engine.types import (  # noqa: E402
    GenerateRequest,
    LoadOptions,
    Message,
    Sampling,
    TextPart,
)

if TYPE_CHECKING:
    from app.gui import Program, Script

PROMPTS = (
    "Write a very long story about a cat and a dog. Do not stop.",
    "Write a poem with fifty lines about the sea.",
    "Count from 1 to 300.",
)
"""The demo model answers these with 300 to 600 tokens; a short answer is over in a tenth of a
second, in which the window is busy with the question still."""
SAMPLING = Sampling(top_k=1, seed=1, max_output_tokens=600)
PARTS = ("bare", "hosted", "window", "start", "memory")
RATES = ("bare", "hosted", "window")


def load_options(model: str, cache: str) -> LoadOptions:
    return LoadOptions(model_path=model, cache="disk", cache_dir=cache)


def ask(run_id: int, prompt: str) -> GenerateRequest:
    message = Message(role="user", parts=(TextPart(text=prompt),))
    return GenerateRequest(
        run_id=run_id, chat_key=f"b{run_id}", message=message, sampling=SAMPLING, keep=False
    )


def bare(args: argparse.Namespace) -> dict[str, Any]:
    """Nothing but the library and a callback that appends: no child, no batching, no parsing."""
    from queue import SimpleQueue

    from engine._ffi import Native
    from engine.native_values import TurnNumbers

    done: SimpleQueue[bool] = SimpleQueue()
    native = Native()
    native.set_log_level(2)
    native.stream_callback(lambda _token, _text, _error, final: done.put(True) if final else None)
    settings = native.settings(args.model, "cpu", None, None)
    native.set_context(settings, 1024)
    native.set_threads(settings, threads.automatic())
    native.set_cache_dir(settings, args.cache)
    native.enable_benchmark(settings)
    engine = native.engine(settings)
    rates: list[float] = []
    for _ in range(args.rounds):
        for prompt in PROMPTS:
            session = native.session_config(
                top_k=1, top_p=0.95, temperature=0.8, seed=1, speculative=False
            )
            chat = native.conversation(
                engine, session, system=None, messages=None, tools=None, constrained=False,
                thinking=None, thinking_budget=None,
            )  # fmt: skip
            parts = [{"type": "text", "text": prompt}]
            with native.optional_args(max_output=SAMPLING.max_output_tokens or 0) as extra:
                native.send(chat, json.dumps({"role": "user", "content": parts}), extra, 1)
                done.get()
            numbers = native.turn_numbers(chat, TurnNumbers())
            if numbers.decode_tokens and numbers.decode_s:
                rates.append(numbers.decode_tokens / numbers.decode_s)
            chat.close()
            session.close()
    engine.close()
    settings.close()
    return {"decode_tps": rates}


def hosted(args: argparse.Namespace) -> dict[str, Any]:
    from engine.client import HostedEngine

    engine = HostedEngine()
    engine.load(load_options(args.model, args.cache))
    rates: list[float] = []
    run_id = 0
    for _ in range(args.rounds):
        for prompt in PROMPTS:
            run_id += 1
            outcome = engine.generate(ask(run_id, prompt), lambda _batch: None)
            if outcome.benchmark and outcome.benchmark.decode_tps:
                rates.append(outcome.benchmark.decode_tps)
    engine.close()
    return {"decode_tps": rates}


def window(args: argparse.Namespace) -> dict[str, Any]:
    """The real program: keys in, pixels out, gaps of its loop."""
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtGui import QPaintEvent
    from PySide6.QtTest import QTest

    from app.conversation import ChatSettings
    from tests.e2e.scenarios import Person
    from ui.message_body import MessageBody

    result: dict[str, Any] = {"decode_tps": [], "first_paint_ms": [], "gaps_ms": []}

    paints: list[float] = []
    drawn = MessageBody.paintEvent

    def paint(body: MessageBody, event: QPaintEvent) -> None:
        """Stamps the paints of an answer with text in its document, after they are done."""
        drawn(body, event)
        if body.stream is not None and body.document().characterCount() > 1:
            paints.append(time.perf_counter())

    MessageBody.paintEvent = paint  # type: ignore[method-assign]

    async def ask_all(me: Person, note: Callable[[float], None]) -> None:
        for prompt in [p for _ in range(args.rounds) for p in PROMPTS]:
            chat = me.program.services.chats.new_chat(ChatSettings(sampling=SAMPLING))
            chat.change_settings(ChatSettings(sampling=SAMPLING))
            edit = me.page.composer.edit
            edit.setFocus()
            edit.setPlainText(prompt)
            await asyncio.sleep(0.05)
            paints.clear()
            pressed = time.perf_counter()
            QTest.keyClick(edit, Qt.Key.Key_Return)
            await chat.wait()
            note(pressed)

    async def script(program: Program) -> None:
        me = Person(program)
        await me.ready()

        def note(pressed: float) -> None:
            run = me.last().run
            if run is not None:
                if run.decode_tps is not None:
                    result["decode_tps"].append(run.decode_tps)
                if paints and run.ttft_s is not None:
                    late = paints[0] - pressed - run.ttft_s
                    result["first_paint_ms"].append(late * 1000)

        await ask_all(me, note)
        # The beat wakes the loop 500 times a second, so what it measures is asked once more.
        beat = QTimer()
        beat.setTimerType(Qt.TimerType.PreciseTimer)
        beat.setInterval(2)
        last = 0.0

        def on_beat() -> None:
            nonlocal last
            now = time.perf_counter()
            if last and me.chat.state == "decoding":
                result["gaps_ms"].append((now - last) * 1000 - 2)
            last = now

        beat.timeout.connect(on_beat)
        beat.start()
        await ask_all(me, lambda _pressed: None)
        beat.stop()

    run_window(args, script)
    return result


def memory(args: argparse.Namespace) -> dict[str, Any]:
    """Resident MB of the window's process: many answers in twenty open conversations."""
    import psutil

    from app.conversation import ChatSettings
    from tests.e2e.scenarios import Person

    process = psutil.Process()
    result: dict[str, Any] = {"answers": args.answers, "rss_mb": {}}

    def note(when: str) -> None:
        result["rss_mb"][when] = round(process.memory_info().rss / 1e6, 1)

    async def script(program: Program) -> None:
        me = Person(program)
        await me.ready()
        await asyncio.sleep(3)
        note("loaded")
        settings = ChatSettings(sampling=SAMPLING)
        for number in range(args.answers):
            if number < args.answers * 3 // 20 or number % 20 == 0:
                program.services.chats.new_chat(settings).change_settings(settings)
            long = PROMPTS[number % 3] if number < args.answers * 3 // 20 else ""
            me.chat.send(long or f"Tell me about number {number}.")
            await me.until(lambda: not me.chat.busy)
            if number % 10 == 9:
                note(f"after {number + 1}")
        for chat in program.services.chats.chats:
            program.services.chats.close(chat.key)
        await asyncio.sleep(25)
        note("all closed")

    run_window(args, script)
    return result


def run_window(args: argparse.Namespace, script: Script) -> None:
    os.environ["TANDEM_HOME"] = args.home
    from app import gui, paths
    from app.settings import SettingsStore

    store = SettingsStore(paths.resolve().settings_file)
    store.change(model_path=args.model, welcomed=True)
    store.save_now()
    code = gui.main(None, script)
    assert code == 0


def start(args: argparse.Namespace) -> dict[str, Any]:
    """One start, timed from the outside by `TANDEM_BENCH_BEGIN` to the first painted window."""
    begin = float(os.environ["TANDEM_BENCH_BEGIN"])
    os.environ["TANDEM_HOME"] = args.home
    from app import gui

    result: dict[str, Any] = {}

    async def script(program: Program) -> None:
        handle = program.window.windowHandle()
        while not (handle is not None and handle.isExposed()):
            await asyncio.sleep(0.001)
            handle = program.window.windowHandle()
        program.window.repaint()
        result["start_s"] = time.time() - begin

    gui.main(None, script)
    return result


def quantile(values: list[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def part(name: str, args: argparse.Namespace, home: str) -> dict[str, Any]:
    """Runs one part in a fresh process."""
    command = [
        sys.executable, __file__, "--part", name, "--model", args.model, "--cache", args.cache,
        "--rounds", str(args.rounds), "--answers", str(args.answers), "--home", home,
    ]  # fmt: skip
    env = dict(os.environ, TANDEM_BENCH_BEGIN=str(time.time()))
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def report(args: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {
        "machine": {"system": platform.platform(), "cores": os.cpu_count(),
                    "load": os.getloadavg() if hasattr(os, "getloadavg") else None},
        "model": Path(args.model).name,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as home:
        # There and back again, so that a machine that gets slower or faster favours none.
        order = [name for name in RATES if name in args.only]
        parts: dict[str, dict[str, Any]] = {}
        for turn, name in enumerate((*order, *reversed(order))):
            clean = os.path.join(home, str(turn))
            for key, values in part(name, args, clean).items():
                parts.setdefault(name, {}).setdefault(key, []).extend(values)
        median = {k: statistics.median(v["decode_tps"]) for k, v in parts.items()}
        found["decode_tps"] = median
        if len(median) == len(RATES):
            found["ratio"] = {
                "hosted_to_bare": median["hosted"] / median["bare"],
                "window_to_bare": median["window"] / median["bare"],
                "window_to_hosted": median["window"] / median["hosted"],
            }
        if "window" in parts:
            seen = parts["window"]
            found["first_paint_minus_ttft_ms"] = {
                "median": quantile(seen["first_paint_ms"], 0.5),
                "p95": quantile(seen["first_paint_ms"], 0.95),
            }
            found["event_loop_gap_ms"] = {
                "p99": quantile(seen["gaps_ms"], 0.99),
                "max": max(seen["gaps_ms"], default=None),
            }
        if "start" in args.only:
            starts = [part("start", args, home)["start_s"] for _ in range(4)]
            found["start_s"] = {"warm": min(starts[1:]), "all": starts}
    if "memory" in args.only:
        with tempfile.TemporaryDirectory() as home:
            found.update(part("memory", args, home))
    return found


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", default=str(resources.DEMO_MODEL))
    p.add_argument("--rounds", type=int, default=4)
    p.add_argument("--answers", type=int, default=100)
    p.add_argument("--cache", default="")
    p.add_argument("--home", default="")
    p.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    p.add_argument("--part", choices=PARTS)
    args = p.parse_args()
    args.model = str(Path(args.model).absolute())
    if args.part:
        print(json.dumps(globals()[args.part](args)))
        return
    with tempfile.TemporaryDirectory() as cache:
        args.cache = args.cache or cache
        screen = None
        if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
            screen = _screen()
        try:
            print(json.dumps(report(args), indent=2))
        finally:
            if screen is not None:
                screen.terminate()
                screen.wait()


def _screen() -> subprocess.Popen[bytes]:
    binary = shutil.which("Xvfb")
    if binary is None:
        raise SystemExit("no display and no Xvfb")
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [binary, "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
        pass_fds=(writing,),
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        os.environ["DISPLAY"] = f":{answer.readline().strip()}"
    os.environ["QT_QPA_PLATFORM"] = "xcb"
    return process


if __name__ == "__main__":
    main()
