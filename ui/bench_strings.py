"""Sentences and words of measuring, for the Benchmark tab and the command line.

Pure Python, no Qt. Keys are string values of the program's enumerations.
"""

from __future__ import annotations

from ui import format as fmt
from ui import strings

WORKLOADS: dict[str, str] = {
    "writing": "Free writing",
    "rewrite": "Rewrite",
    "summary": "Summary",
    "code": "Code",
    "qa": "Q&A",
    "translation": "Translation",
    "own": "Your prompt",
    "all": "All",
}

VERDICTS: dict[str, str] = {
    "faster": "Faster with speculation on this computer.",
    "unclear": "No clear difference on this computer.",
    "slower": "Slower here: leave it off.",
    "too_few": "No clear difference: too few runs to tell.",
    "cannot": "Speculation cannot run here: leave it off.",
    "synthetic": "Synthetic test: padding is no text, so it gives no verdict.",
}

VERDICT_WORDS: dict[str, str] = {
    "faster": "faster",
    "unclear": "no clear difference",
    "slower": "slower: leave it off",
    "too_few": "too few runs",
    "cannot": "cannot run here: leave it off",
}

PHASES: dict[str, str] = {
    "load_first": "First load, empty cache",
    "load": "Loading",
    "warmup": "Warming up",
    "measure": "Measuring",
    "memory": "Reading peak memory",
    "depth": "Measuring at {depth} % of the context",
    "synthetic": "Synthetic test",
}

TITLE = "Speculation off and on"
COMPARE = "Compare"
COMPARE_LONG = "Compare speculation off / on"
HISTORY = "History"
CANCEL = "Cancel"
MEASURE = "Measure…"
NOT_MEASURED = strings.NOT_MEASURED
EMPTY_TITLE = "Nothing measured yet"
EMPTY_TEXT = (
    "Run the same prompts with speculation off and on, in turn, and see what it is worth on "
    "this computer. Nothing appears in your chats."
)
NO_MODEL_TEXT = "Load a model first, or choose one here."
NO_DRAFTER = (
    "{model} has no MTP drafter, so there is nothing to compare. Choose a model marked MTP."
)
BUSY = "An answer is being written. Compare when it has ended, so that both can be trusted."
RUNNING_ELSEWHERE = "A comparison is running already."
PARTIAL = "Cut short: these are the results up to then."
PARTIAL_ERROR = "Cut short by an error: {sentence}"
QUIT_AT_ONCE = "Interrupted twice: ended at once, nothing more is printed or kept."
CANCELLED_EMPTY = "Cancelled before anything was measured."
SOFTWARE = "Software adapter: these speeds are not those of a graphics card."
BUSY_MACHINE = (
    "The computer was busy (load {load:.1f} on {cores} cores): measure again when it is quiet."
)
BASELINE = "baseline"
SET_BASELINE = "Set as baseline"
REMOVE_BASELINE = "Remove as baseline"
COPY_ROW = "Copy Markdown row"
EXPORT = "Export"
GREEDY_NOTE = (
    "Both legs decode greedily (top-k 1): while speculating the engine does so whatever is "
    "set, and so both write the same words."
)
SYNTHETIC_NOTE = (
    "The synthetic test decodes on after padding: what speculation gains there says nothing "
    "about real texts."
)
SYNTHETIC_OVERDUE = (
    "The synthetic test with speculation did not end in time and was stopped; only the leg "
    "without it is shown."
)
CHAT_IS_SAFE = " Your conversation is safe."
ON_MISSING = "Only the leg without speculation was measured. {sentence}"
CANNOT_HERE = "cannot run here"
SPEEDUP_HERE = "{speedup} here"
RATE_HERE = "{rate} tok/s here"
MEASURED_ON = "{result}, measured {day}"
SPECULATION = "speculation {told}"
ON = "On"
OFF = "Off"
INTERVAL_NOTE = (
    "The interval holds the noise of the machine and how much these prompts differ; other "
    "prompts may behave otherwise."
)

DOES_NOT_FIT = (
    "A prompt of {prompt} and an answer of {answer} tokens do not fit into a context of {context}."
)
GPU_WAY_OUT = "Here: --backend cpu measures on the CPU."


def speedup_line(value: float | None, low: float | None, high: float | None) -> str:
    """`1.60× (95 % 1.51 – 1.69)`, without the interval where there is none."""
    text = fmt.speedup(value)
    if value is None or low is None or high is None:
        return text
    return f"{text} (95 % {low:.2f} – {high:.2f})"


def plus_minus(mean: float | None, std: float | None) -> str:
    """`51.8 ± 1.2`; no deviation for a single value."""
    if mean is None:
        return fmt.DASH
    return fmt.tps(mean) if std is None else f"{mean:.1f} ± {std:.1f}"


def span(low: float, high: float) -> str:
    """`49.6 – 53.0`"""
    return f"{fmt.tps(low)} – {fmt.tps(high)}"


def percent(share: float | None) -> str:
    return fmt.DASH if share is None else f"{100 * share:.1f} %"


def seconds(value: float | None) -> str:
    return fmt.DASH if value is None else f"{value:.2f} s"


def same_text(same: int | None, compared: int | None) -> str:
    """`20 of 20`, or a dash where texts were not compared."""
    return fmt.DASH if same is None or compared is None else f"{same} of {compared}"


def memory(off: int | None, on: int | None) -> str:
    """Peak memory of both legs: `212 → 245 MB`; of one where only that is known."""
    if off is None or on is None:
        return fmt.size(on if off is None else off)
    first, _, unit = fmt.size(off).partition(" ")
    second = fmt.size(on)
    return f"{first if second.endswith(f' {unit}') else fmt.size(off)} → {second}"


def change(share: float | None) -> str:
    """Against the baseline: `12 % better`, `3 % worse`, `same`."""
    if share is None:
        return ""
    points = round(abs(share) * 100)
    if points == 0:
        return "same"
    return f"{points} % {'better' if share > 0 else 'worse'}"


def duration(value: float) -> str:
    """Time left, rounded as people say it: `40 s`, `3 min`, `1 h 10 min`."""
    if value < 90:
        return f"{max(1, round(value))} s"
    minutes = round(value / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


ALL_MODELS = "All models"
ALL_BACKENDS = "All"
FILTER_MODEL = "Show model"
FILTER_BACKEND = "Show backend"
DELETE = "Delete"
DELETED = "Comparison deleted."
NOTES_HINT = "Add a note"
NOTES_NAME = "Note"
DETAILS = "Details"
WORKLOADS_BUTTON = "Workloads: {count}"
RUNS_BUTTON = "{runs} runs"
ONE_RUN = "1 run"
PER_CLASS = "Prompts of each class"
OWN_PROMPT = "Your own prompt…"
OWN_PROMPT_TITLE = "Your own prompt"
OWN_PROMPT_TEXT = "It is measured besides the chosen classes. Leave it empty to take it out."
DEPTH_SWEEP = "Context depth: 0, 25, 50, 75 %"
SYNTHETIC = "Synthetic test: 256 + 256 tokens"
TARGET_NONE = "No model"
OPEN_FILE = "Open file…"
COPY_TABLE = "Copy table"
COPY_COMMAND = "Copy command"
EXPORT_CSV = "Save as CSV…"
EXPORT_JSON = "Save as JSON…"
EXPORT_PNG = "Save picture as PNG…"
EXPORT_SVG = "Save picture as SVG…"
PICTURES: dict[str, str] = {
    "bars": "By class",
    "latency": "Per token",
    "depth": "Over depth",
    "history": "Over time",
}
OFF_LEG = "off"
ON_LEG = "on"
DEVIATIONS = "thin lines: ± standard deviation"
INTERVALS = "thin lines: 95 % interval"
PICTURE_NAMES: dict[str, str] = {
    "bars": "Decode speed by class of prompts",
    "latency": "Time per token along the answer",
    "depth": "Speedup over how full the context was",
    "history": "Speedup in every comparison of this model",
}
NO_LATENCY = "Token times are kept for the first run of each prompt; there are none here."
NO_DEPTH = "Tick “Context depth” under Workloads to measure this."
STOPPING = "Stopping…"
NOTHING_CHOSEN = "Choose at least one class of prompts."
SAVED = "Saved {name}."
SAVE_FAILED = "{name} could not be saved: {reason}."
STORE_FAILED = "The history of measurements cannot be used: {reason}."
TABLE_NAME = "Results"
SPEEDUP = "speedup"
NO_BARS = "Nothing to draw: no class of prompts was measured."
PROGRESS_NAME = "Progress of the comparison"
STARTED = "Comparison started"
ENDED = "Comparison ended"
TABLE_HEAD = (
    "Backend",
    "off tok/s",
    "on tok/s",
    SPEEDUP,
    "TTFT off",
    "TTFT on",
    "accepted",
    "same text",
    "memory",
)
OTHER_PROMPTS = (
    "The baseline was measured with other prompts or another length, so the difference is not "
    "that of the speed alone."
)
OTHER_PLACE = "The baseline was measured elsewhere: {place}."
AGAINST_BASELINE = "against baseline"
CUT_SHORT = "cut short"
PEAK_MEMORY = "peak memory of the engine process"
NO_ACCEPTANCE = "The engine reported no acceptance rate."
AXIS_POSITION = "token of the answer"
AXIS_LATENCY = "ms per token"
AXIS_DEPTH = "context filled before the prompt"
AXIS_SPEEDUP = "speedup ×"
TAB = "Benchmark"
COMPARING = "Comparing speculation off and on"
WAITING = "Waiting for the engine…"
