"""Renders real windows into pictures to look at: `python tests/bench/screenshots.py FOLDER`.

Light and dark, 100 % and 200 % text or screen scale, 1280×800 and 800×600. No model and no
engine: the values shown are examples.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSize, Qt  # noqa: E402
from PySide6.QtGui import QFont  # noqa: E402
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget  # noqa: E402

from engine.types import Backend, SpecMode  # noqa: E402
from ui.about_dialog import AboutDialog  # noqa: E402
from ui.controls import label, primary_button, section_label  # noqa: E402
from ui.load_dialog import LoadDialog  # noqa: E402
from ui.main_window import MainWindow  # noqa: E402
from ui.model_picker import ModelPicker  # noqa: E402
from ui.theme import theme  # noqa: E402
from ui.views import (  # noqa: E402
    AboutView,
    BackendChoice,
    ComposerView,
    FooterView,
    GaugeView,
    HeaderView,
    LoadDialogView,
    ModelCardView,
    NoticeAction,
    NoticeView,
    PickerView,
    SpecChoice,
    TabView,
    ToolStepView,
    TurnView,
)
from ui.welcome import Welcome  # noqa: E402

ANSWER = """Use the **csv** module from the standard library:

```python
import csv

with open("sales.csv", newline="") as f:
    total = sum(float(row["amount"]) for row in csv.DictReader(f))
print(total)
```

DictReader takes the names from the first line, so the column is found by its title, not its place.
"""
RICH = """## What changes

1. The file is read *once*.
2. Empty cells count as zero:
   - `""` is empty
   - `0` is not

> A cell with only spaces is empty too.

| cell | value | counted |
| --- | ---: | :---: |
| `12.5` | 12.5 | yes |
| | — | no |

See https://docs.python.org/3/library/csv.html or [the guide](https://example.org/a).

```
plain block without a language
```

- [x] read
- [ ] write
"""
FOOTER = FooterView(
    decode_tps=83.1,
    prefill_tps=312,
    ttft_s=0.24,
    tokens=118,
    tokens_per_step=2.6,
    speculative=True,
    backend="CPU",
    stop_reason="end of answer",
    details=(("Model", "SmolLM2 135M"), ("Backend", "CPU"), ("Engine", "0.18.1")),
)
HEADER = HeaderView(
    phase="ready",
    model="SmolLM2 135M",
    backend=Backend.CPU,
    context_tokens=2048,
    speculative=True,
    thinking=False,
    modalities="text only",
)


def turns(rich: bool = False) -> list[TurnView]:
    out = [
        TurnView(node_id="u1", role="user", text="How do I read a CSV file and sum one column?"),
        TurnView(
            node_id="a1", role="assistant", text=ANSWER, footer=FOOTER,
            version_index=1, version_count=2,
        ),
        TurnView(node_id="u2", role="user", text="And if a cell is empty?"),
    ]  # fmt: skip
    if rich:
        out += [
            TurnView(
                node_id="a2", role="assistant", text=RICH, status="stopped", can_continue=True,
                thought="The person asks about empty cells.", footer=FOOTER,
                tool_steps=(ToolStepView(name="read_file", arguments="{}", result="ok"),),
            )
        ]  # fmt: skip
    else:
        out.append(TurnView(node_id="a2", role="assistant", status="streaming"))
    return out


def sidebar() -> QWidget:
    """A stand-in with the measures of the real one."""
    out = QWidget()
    box = QVBoxLayout(out)
    box.setContentsMargins(12, 12, 12, 12)
    new = primary_button("New chat")
    new.setSizePolicy(new.sizePolicy().Policy.Expanding, new.sizePolicy().Policy.Fixed)
    box.addWidget(new)
    box.addWidget(section_label("Today"))
    box.addWidget(label("Parse a CSV in Python"))
    box.addStretch(1)
    box.addWidget(label("Everything stays on this computer.", "small"))
    return out


def settle(app: QApplication, seconds: float = 0.35) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        app.processEvents()
        time.sleep(0.005)


def chat_window(rich: bool = False) -> MainWindow:
    window = MainWindow()
    for key, title in (("models", "Models"), ("tools", "Tools"), ("benchmark", "Benchmark")):
        window.add_tab(key, title, QWidget())
    window.set_sidebar(sidebar())
    window.set_header(HEADER)
    window.on_action("settings", lambda: None)
    page = window.chat.add_conversation(
        TabView(key="a", title="Parse a CSV in Python", speculative=True)
    )
    window.chat.add_conversation(
        TabView(key="b", title="Dinner for six", speculative=False), select=False
    )
    page.set_turns(turns(rich))
    page.set_composer(
        ComposerView(
            state="idle" if rich else "decoding",
            spec=SpecChoice(available=True, mode=SpecMode.ON),
            attach=("image",),
        )
    )
    page.set_gauge(
        GaugeView(used=1900 if rich else 287, total=2048, elapsed_s=1.4, decode_tps=81.0,
                  ttft_s=0.24, live=not rich)
    )  # fmt: skip
    if not rich:
        page.stream("a2", "Skip it, or count it as zero. Write the rule where the value is ")
        page.stream("a2", "read so that it is easy to find later")
    return window


def notice() -> NoticeView:
    return NoticeView(
        id="crash",
        headline="Engine stopped unexpectedly",
        text="SmolLM2 135M on CPU ended with signal 6 (abort). Your conversation is safe.",
        level="bad",
        actions=(
            NoticeAction("log", "Show log"),
            NoticeAction("cpu", "Use CPU"),
            NoticeAction("restart", "Restart engine", primary=True),
        ),
    )


def dialogs() -> dict[str, QWidget]:
    spec = SpecChoice(
        available=True,
        mode=SpecMode.AUTO,
        texts={
            SpecMode.OFF: "51.8 tok/s here",
            SpecMode.ON: "83.1 tok/s here",
            SpecMode.AUTO: "On: 1.60× here, measured 29 Nov",
        },
    )
    load = LoadDialogView(
        model="SmolLM2 135M",
        path="/models/smollm2-135m-mtp.litertlm",
        summary="smollm2-135m-mtp.litertlm · 186 MB · up to 2048 tokens · text",
        backends=(
            BackendChoice(backend=Backend.CPU, text="8 threads"),
            BackendChoice(backend=Backend.GPU, reason="Not available: no Vulkan adapter found"),
        ),
        spec=spec,
        context_tokens=2048,
        max_context=2048,
    )
    cards = (
        ModelCardView(
            id="demo", name="Tandem demo", badges=("MTP", "text"), group="Comes with Tandem",
            summary="21 MB · context 1024 · speculation 0.89× here", loaded=True,
        ),
        ModelCardView(
            id="smol", name="SmolLM2 135M", badges=("MTP", "text"), group="Recently used",
            summary="186 MB · context 2048 · speculation 1.60× here",
        ),
        ModelCardView(
            id="bad", name="my-finetune.litertlm", group="On this computer",
            problem="File is incomplete: 1,204,224,000 of 2,588,147,712 bytes",
        ),
    )  # fmt: skip
    about = AboutView(version="0.1.0", facts=(("Engine", "LiteRT-LM 0.18.1"), ("Qt", "6.11.3")))
    return {
        "load": LoadDialog(load),
        "picker": ModelPicker(PickerView(cards=cards, selected="demo")),
        "about": AboutDialog(about),
        "welcome": Welcome(),
    }


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("folder", type=Path)
    args.add_argument("--only", default="")
    options = args.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    app = QApplication([])
    from ui.code_highlighter import warm_up

    warm_up()
    app.setFont(QFont(os.environ.get("TANDEM_SHOT_FONT", app.font().family())))

    def shoot(name: str, window: QWidget, size: tuple[int, int]) -> None:
        window.resize(*size)
        window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen, False)
        window.show()
        settle(app)
        window.grab().save(str(options.folder / f"{name}.png"))

    for mode in ("light", "dark"):
        for scale in (1.0, 2.0):
            theme().apply(mode=mode, scale=scale)
            for kind, dialog in dialogs().items():
                name = f"{mode}-{int(scale * 100)}-dialog"
                if not options.only or options.only in name:
                    size = dialog.sizeHint() if kind != "welcome" else QSize(800, 520)
                    shoot(f"{kind}-{name}", dialog, size.expandedTo(dialog.size()).toTuple())
                dialog.close()
            for width, height in ((1280, 800), (800, 600)):
                name = f"{mode}-{int(scale * 100)}-{width}"
                if options.only and options.only not in name:
                    continue
                for kind in ("stream", "rich", "notice", "empty"):
                    window = chat_window(rich=kind == "rich")
                    if kind == "notice":
                        window.show_notice(notice())
                    if kind == "empty":
                        window.chat.add_conversation(TabView(key="c", title=""))
                    shoot(f"{kind}-{name}", window, (width, height))
                    window.allow_close()
                    window.close()
                    window.deleteLater()
                    settle(app, 0.05)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
