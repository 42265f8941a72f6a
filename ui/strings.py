"""Every sentence a person reads, in one place, ready to be translated.

Pure Python (no Qt), so the window and the command line say the same things. Sentences are
plain text: no markup. Those of errors are in `error_words`.
"""

from __future__ import annotations

from engine.types import Backend, FinishReason, Modality, SpecMode

APP_NAME = "Tandem"

STOP_REASONS: dict[FinishReason, str] = {
    FinishReason.END: "end of answer",
    FinishReason.STOPPED: "stopped by you",
    FinishReason.LIMIT: "output limit",
    FinishReason.CONTEXT_FULL: "context full",
    FinishReason.TOOL_CALLS: "tool call",
    FinishReason.ERROR: "failed",
}

STATUS_MARKS: dict[str, str] = {
    "done": "",
    "streaming": "",
    "stopped": "stopped by you",
    "limit": "output limit reached",
    "context_full": "context full",
    "failed": "failed",
    "interrupted": "interrupted: Tandem ended before the answer did",
}
"""Keyed by the value of a turn's status."""


BACKENDS: dict[Backend, str] = {Backend.CPU: "CPU", Backend.GPU: "GPU", Backend.NPU: "NPU"}
SPEC_MODES: dict[SpecMode, str] = {
    SpecMode.OFF: "Off",
    SpecMode.ON: "On",
    SpecMode.AUTO: "Auto (measured)",
}


def modalities(values: tuple[Modality, ...]) -> str:
    """`text only`, `vision`, `audio` or `vision + audio`, as in the chat header."""
    extra = [str(m) for m in (Modality.VISION, Modality.AUDIO) if m in values]
    return " + ".join(extra) if extra else "text only"


def spec_words(on: bool) -> str:
    return "spec on" if on else "spec off"


# Header and states
NO_MODEL = "No model loaded"
LOADING = "Loading {model} on {backend}… {seconds:.1f} s"
CANCEL = "Cancel"
SWITCH_MODEL = "Switch model…"
CHOOSE_MODEL = "Choose a model…"
CLOSING = "Closing…"
PRIVACY_LINE = "Everything stays on this computer."

# Composer
COMPOSER_PLACEHOLDER = "Write a message"
COMPOSER_NAME = "Message"
ATTACH = "Attach"
SPECULATIVE_BUTTON = "Speculative: {mode}"
SAMPLING = "Sampling"
SEND = "Send"
STOP = "Stop"
STOPPING = "Stopping…"
ENTER_SENDS = "Enter to send"
CTRL_ENTER_SENDS = "Ctrl+Enter to send"
NOT_MEASURED = "not measured yet"
MEASURE = "Measure…"
SPEC_EXPLAINED = (
    "The model’s drafter proposes tokens and the model checks them. It can be slower; "
    "while it is on, temperature and seed have no effect."
)
ATTACH_REFUSED = "{model} reads text only; it cannot take {kind}."

# Turns
YOU = "Your message"
ANSWER = "Answer"
COPY = "Copy"
COPIED = "Copied"
COPY_CODE = "Copy code"
SCROLL_CODE = "Scroll code sideways"
REGENERATE = "Regenerate"
EDIT = "Edit"
CONTINUE = "Continue"
QUOTE = "Quote"
DELETE_TURN = "Delete"
RUN_DETAILS = "Run details"
MORE = "More actions"
EARLIER_VERSION = "Earlier version"
LATER_VERSION = "Later version"
THINKING = "Thinking…"
THOUGHTS = "Thoughts"
JUMP_TO_LATEST = "Jump to latest"
EMPTY_ANSWER = "(empty answer)"
DROPPED_TURNS = "Messages above are no longer sent to the model"
SAVE_AND_SEND = "Send"
LINK_ASK = "Open this address?"
LINK_REFUSED = "Tandem does not open this kind of address:"
LINK_ADDRESS = "Address"
LINK_SITE = "It leads to {host}."
LINK_OTHER_LETTERS = "In other letters this name reads {host}; it may imitate a site you know."
LINK_CREDENTIALS = "What stands before the @ is a user name, not the site."
LINK_MAIL = "It writes an e-mail to {address}."
LINK_HEADERS = "Attachments and hidden receivers that it asks for are left out."
WAITING = {
    "queued": "Waiting for the engine…",
    "loading": "Loading the model…",
    "prefill": "Reading the prompt…",
    "drafter": "Loading the drafter and reading the prompt…",
    "deciding": "Waiting for your decision",
    "tool": "Running a tool…",
    "stopping": "Stopping…",
}

# Announcements for screen readers
ANNOUNCE_FINISHED = "Answer finished"
ANNOUNCE_STOPPED = "Answer stopped"
ANNOUNCE_FAILED = "Answer failed: {sentence}"
ANNOUNCE_LIMIT = "Answer ended: {reason}"

# Empty chat and first run
EMPTY_CHAT_TITLE = "What would you like to ask?"
EMPTY_CHAT_TEXT = "The answer is made on this computer. Nothing leaves it."
WELCOME_TITLE = "Welcome to Tandem"
WELCOME_TEXT = (
    "Tandem runs language models on this computer. Start with the small demo model, open a "
    ".litertlm file you have, or download one."
)
TRY_DEMO = "Try the demo model"
OPEN_FILE = "Open file…"
DOWNLOAD_MODEL = "Download a model…"

# Models and loading
PICK_MODEL = "Choose a model"
RECENT = "Recently used"
ON_THIS_COMPUTER = "On this computer"
COMES_WITH = "Comes with Tandem"
NO_MODELS = "No models here yet. Open a .litertlm file or download one."
DROP_HINT = "You can also drop a .litertlm file here."
CATALOGUE = "Browse the catalogue…"
LOAD = "Load"
LOAD_TITLE = "Load {model}"
BACKEND = "Backend"
SPECULATIVE = "Speculative decoding"
CONTEXT = "Context"
CONTEXT_HINT = "more takes memory and time"
ADVANCED = "Advanced"
THREADS = "Threads"
THREADS_AUTO = "automatic"
CACHE = "Cache"
CACHE_CHOICES = {"disk": "On disk", "memory": "In memory", "no": "Off"}
MODEL_FILES = "LiteRT-LM models (*.litertlm)"
ALL_FILES = "All files (*)"

# Common buttons
OK = "OK"
CLOSE = "Close"
DISMISS = "Dismiss"
DETAILS = "Details"
SHOW_LOG = "Show log"
RESTART_ENGINE = "Restart engine"
USE_CPU = "Use CPU"
RETRY = "Try again"
UNDO = "Undo"
ABOUT_TEXT = (
    "Chat with .litertlm models on this computer, and see and measure what speculative "
    "decoding does."
)
