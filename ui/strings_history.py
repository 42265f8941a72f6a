"""Sentences about conversations, attachments, search, export and settings.

Pure Python; the rest of the words a person reads are in `ui.strings`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_PROBLEMS: dict[str, str] = {
    # The history file
    "history_newer": (
        "Your history was written by a newer version of Tandem. It is shown here, but nothing "
        "is changed or saved in it."
    ),
    "history_damaged": (
        "The history file was damaged. {count} conversations could be read; the damaged file "
        "was kept as {path}."
    ),
    "history_unwritable": (
        "The history at {path} cannot be used ({detail}). Conversations of this session are "
        "kept in memory only; export what you want to keep."
    ),
    "history_read_only": (
        "The history at {path} cannot be written ({detail}). It is shown here, but what is new is "
        "kept in memory only; export what you want to keep."
    ),
    "history_not_saved": (
        "Conversations cannot be saved at the moment ({detail}). They are kept in memory and "
        "saved as soon as it works again."
    ),
    "history_saved_again": "Everything is saved again.",
    "history_not_read": "The conversations could not be read ({detail}).",
    # Attachments
    "attach_folder": "{name} is a folder; attach files.",
    "attach_empty": "{name} is empty.",
    "attach_too_large": "{name} is too large; at most {limit} bytes can be attached.",
    "attach_unreadable": "{name} cannot be read: {reason}.",
    "attach_format": "{name} is a {format} file; save it as JPEG, PNG or WAV and attach that.",
    "attach_unknown": "{name} is neither an image nor a sound that can be used.",
    "attach_not_stored": "The attachment could not be stored: {reason}.",
    "attach_at_work": "A file is still being read; send the message when it is shown above it.",
    "attach_gone": "{name} is no longer stored; it cannot be opened.",
    "attach_too_many": "At most {limit} files can be sent with one message.",
    "image_damaged": "{name} is damaged or cut off; it cannot be shown.",
    "image_huge": "{name} has {width} × {height} pixels; that is too large to attach.",
    "audio_damaged": "{name} holds no sound that can be played.",
    "no_model": "Load a model first; then Tandem knows what it can take.",
    "text_only": "{model} reads text only; it cannot take {kind}.",
    "encoder_off": "{model} was loaded without {kind}; load it again with {kind} enabled.",
    # Import
    "import_not_ours": "{name} is not an export of Tandem.",
    "import_newer": "{name} was exported by a newer version of Tandem.",
    "import_damaged": "{name} is damaged: {detail}.",
    "import_too_large": "{name} is too large to be imported safely.",
    "import_unreadable": "{name} cannot be read: {detail}.",
    "export_failed": "The export could not be written to {name}: {detail}.",
    "print_failed": "The printer did not take the conversation. Choose another one, or a file.",
}

KINDS = {"image": "images", "audio": "audio"}


def some(sentences: Sequence[str], most: int) -> str:
    """At most so many sentences, and how many more there are."""
    more = len(sentences) - most
    return " ".join(sentences[:most]) + (f" And {more} more." if more > 0 else "")


def unseen(model: str, names: Sequence[str], kinds: Collection[str], *, gone: bool) -> str:
    """What of a conversation a model was not shown: `names`, because of `kinds` it does not
    take, or because the files are `gone`."""
    one = len(names) == 1
    what = f"“{names[0]}”" if one else f"{len(names)} attachments of this conversation"
    if gone:
        is_gone = "is no longer there or cannot be read" if one else "cannot be read any more"
        return f"{what} {is_gone}; {model} answered without."
    takes = " and ".join(KINDS[k] for k in ("image", "audio") if k in kinds)
    stay = "It stays" if one else "They stay"
    was = "was" if one else "were"
    return f"{model} takes no {takes}: {what} {was} not shown to it. {stay} in the conversation."


class _Params(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "—"


def problem_codes() -> frozenset[str]:
    return frozenset(_PROBLEMS)


def problem(code: str, params: Mapping[str, str] | None = None) -> str:
    """The sentence for a code; an unknown code gets a general one, never an exception."""
    given = dict(params or {})
    if "limit" in given and code == "attach_too_large" and given["limit"].isdigit():
        given["limit"] = f"{int(given['limit']) // 1_000_000} MB"
        return _PROBLEMS[code].replace(" bytes", "").format_map(_Params(given))
    return _PROBLEMS.get(code, "Something went wrong: {code}.").format_map(
        _Params({"code": code, **given})
    )


# Sidebar
NEW_CHAT = "New chat"
SEARCH_CHATS = "Search conversations"
CONVERSATIONS = "Conversations"
GROUP_PINNED = "Pinned"
GROUP_TODAY = "Today"
GROUP_YESTERDAY = "Yesterday"
GROUP_WEEK = "Previous 7 days"
GROUP_OLDER = "Older"
GROUP_RESULTS = "Search results"
NO_CHATS = "No conversations yet.\nWrite a message to start the first one."
NO_HITS = "Nothing found for “{query}”."
UNTITLED = "New chat"
OPEN = "Open"
RENAME = "Rename"
PIN = "Pin"
UNPIN = "Unpin"
EXPORT_MARKDOWN = "Export as Markdown…"
EXPORT_JSON = "Export as JSON…"
IMPORT = "Import conversations…"
SAVE_PDF = "Save as PDF…"
DELETE = "Delete"
DELETED = "“{title}” was deleted."
PINNED_WORD = "pinned"
EXPORTED = "Exported to {name}."
IMPORTED = "{count} conversations imported."
IMPORTED_ONE = "One conversation imported."
IMPORTED_SAME = "{same} were here already."
IMPORTED_MISSING = "{missing} attachments were missing."
INTERRUPTED_NOTE = "Tandem ended while an answer was being written; it was kept as far as it got."

# Find in chat
FIND = "Find in chat"
FIND_COUNT = "{at} of {count}"
FIND_NONE = "Not found"
FIND_NEXT = "Next match (Enter)"
FIND_PREVIOUS = "Previous match (Shift+Enter)"
FIND_CLOSE = "Close (Esc)"

# Command palette
PALETTE = "Command palette"
PALETTE_HINT = "Type what you want to do"
PALETTE_NONE = "No command matches."

ANSWERING = "answering…"

# Chat settings (inspector)
CHAT_SETTINGS = "Chat settings"
LOAD_BLOCK = "Load"
LOAD_BLOCK_HINT = "Changes here load the model again."
LOAD_NONE = "No model is loaded."
PENDING = "Not applied yet: the model will be loaded again."
APPLY = "Apply"
REVERT = "Revert"
GENERATION_BLOCK = "Generation"
GENERATION_HINT = "Used from the next message on, in this conversation."
SYSTEM_PROMPT = "System prompt"
SYSTEM_HINT = "How the model should answer"
TEMPERATURE = "Temperature"
TOP_P = "Top-p"
TOP_K = "Top-k"
SEED = "Seed"
SEED_RANDOM = "random"
MAX_TOKENS = "Max reply tokens"
MAX_TOKENS_NONE = "no limit"
REPETITION = "Repetition penalty"
REPETITION_NONE = "off"
NO_EFFECT = (
    "Speculation is on: temperature, top-p, top-k and seed have no effect, because drafting and "
    "checking pick the most likely token."
)
NO_EFFECT_FIELD = "{name} (no effect)"
NO_EFFECT_WHY = "Has no effect while speculation is on."
SPECULATIVE = "Speculative decoding"
THINKING_SWITCH = "Let the model think first"
THINKING_BUDGET = "Thinking budget"
THINKING_BUDGET_NONE = "no limit"
THINKING_MISSING = "This model does not think."
TOOLS_SWITCH = "Let the model use tools"
TOOLS_MISSING = "This model cannot use tools."
PRESET = "Preset"
PRESET_NONE = "No preset"
PRESET_SAVE = "Save as preset…"
PRESET_DELETE = "Delete preset"
PRESET_DEFAULT = "Use for new chats"
PRESET_IS_DEFAULT = "{name} (new chats)"
PRESET_NAME = "Name of the preset"
BAD_NUMBER = "Not a number."
BAD_WHOLE = "A whole number, please."
BAD_RANGE = "From {low} to {high}."
TOKENS = "tokens"
CONTEXT_DEFAULT = "default"
REPEAT_HINT = "1 changes nothing; 1.1 is a usual value."

# Settings dialog
SETTINGS = "Settings"
SEARCH_SETTINGS = "Search settings"
NO_SETTING = "No setting matches “{query}”."
S_APPEARANCE = "Appearance"
S_CHAT = "Chat"
S_ENGINE = "Engine"
S_STORAGE = "Storage"
S_SHORTCUTS = "Shortcuts"
S_PRIVACY = "Privacy"
THEME = "Colours"
THEMES = {"system": "Follow the system", "light": "Light", "dark": "Dark"}
TEXT_SIZE = "Text size"
DENSITY = "Density"
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}
REDUCED_MOTION = "Reduced motion"
REDUCED_MOTION_TEXT = "No animations."
ENTER_KEY = "Sending a message"
ENTER_KEYS = {True: "Enter sends", False: "Ctrl+Enter sends"}
ENTER_KEY_TEXT = "Shift+Enter always begins a new line."
FOOTER = "Numbers under each answer"
FOOTER_TEXT = "Speed, delay, tokens and how the answer ended. They are kept either way."
DEFAULT_PRESET = "New chats start with"
LOAD_AT_START = "Load the last model at start"
LOAD_AT_START_TEXT = "Otherwise it is loaded with the first message."
DEFAULT_CONTEXT = "Context of the next load"
DEFAULT_THREADS = "Threads of the next load"
CACHE_TEXT = "Prepared weights are kept for a faster next load; they can be as large as the model."
FLOAT16 = "Half precision on GPU"
FLOAT16_TEXT = "Faster on some GPUs; can damage digits and dates in answers."
OPEN_FOLDER = "Open folder"
CLEAR = "Clear"
CLEAR_CACHE_ASK = "Delete the engine cache? The next load of each model takes longer."
NOT_CLEARED = "Nothing was deleted: the cache is in use or read-only."
CLEARED = "The engine cache was deleted ({size})."
COUNTING = "counting…"
PLACES = {
    "history": "Conversations",
    "attachments": "Attachments",
    "models": "Models",
    "cache": "Engine cache",
    "logs": "Logs",
    "settings": "Settings",
}
PLACE_TEXTS = {
    "history": "All conversations, drafts and run records, in one file only you can read.",
    "attachments": "Images and sounds you sent, stored by content.",
    "models": "Model files downloaded by Tandem.",
    "cache": "Prepared weights; can be deleted at any time.",
    "logs": "What the program and the engine did. No messages, no answers, no tokens.",
    "settings": "Your settings and presets.",
}
PRIVACY_TEXT = (
    "Answers are made on this computer. Tandem has no account, sends no statistics and does not "
    "look for updates by itself. It uses the network only when you download a model or run a tool "
    "server you added yourself."
)
MANAGE = "Manage…"
MANAGED = {
    "token": (
        "Hugging Face token",
        "For models that are given only to accounts. Kept in this system’s keyring, sent to "
        "Hugging Face alone.",
        "account key password login gated download",
    ),
    "servers": (
        "Tool servers",
        "Programs on this computer that offer tools to the model (MCP).",
        "mcp tools functions",
    ),
}
"""Name, text and further search words of what has a dialog of its own."""
PRIVACY_WHERE = "What is stored, and where"
SHORTCUT_HINT = "All commands are also in the command palette (Ctrl+K)."
MORE_SHORTCUTS = (
    ("Send the message", "Enter"),
    ("New line in the message", "Shift+Enter"),
    ("Stop the answer", "Esc"),
    ("Edit the last message", "Up (empty box)"),
    ("Next and previous match", "Enter, Shift+Enter"),
)
REMOVE_ATTACHMENT = "Remove {name}"
ATTACHMENTS = "Attachments of this message"
CONVERSATION = "Conversation"
ATTACH_FILES = "Images and sounds"
PASTED = "Pasted image.png"
ALL_FILE_NAME = "Tandem conversations"
EXPORT_TITLE = "Export"
MARKDOWN_FILES = "Markdown (*.md)"
JSON_FILES = "Tandem export (*.json *.zip)"
PDF_FILES = "PDF (*.pdf)"
IMPORT_FILES = "Tandem exports (*.json *.zip)"
ANY_FILES = "All files (*)"
