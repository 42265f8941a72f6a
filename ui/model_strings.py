"""Words and sentences of the Models tab and its dialogs. Pure Python, no Qt.

`failure(code, params)` gives the sentence of a download that stopped; the program also asks
`WAYS_ON` which buttons belong to it, so no failure is a dead end.
"""

# ruff: noqa: S105 - sentences about tokens are no passwords

from __future__ import annotations

from collections.abc import Mapping

from ui import format as fmt

TITLE = "Models"
SEARCH = "Search"
SEARCH_NAME = "Search models"
ADD_FROM_HUB = "Add from Hugging Face…"
OPEN_FILE = "Open file…"
ON_THIS_COMPUTER = "On this computer"
CATALOGUE = "Catalogue"
STORAGE = "Storage…"
SORT = "Sort: {how}"
SORTS = {"name": "name", "size": "size", "used": "last used", "speedup": "measured speedup"}
SHOW = "Show: {what}"
FILTERS = {
    "all": "all",
    "MTP": "with a drafter (MTP)",
    "thinking": "thinking",
    "vision": "vision",
    "audio": "audio",
    "tools": "tools",
    "fits": "fits this computer",
}
EMPTY_LOCAL = "No models here yet. Open a .litertlm file, drop one here, or download one below."
NO_HITS = "No model matches “{text}”."
NO_HITS_FILTER = "No model here has what the filter asks for."
DROP_HERE = "Drop the .litertlm file to add it. It stays where it is."
LOOKING = "Looking for models…"

# Buttons
LOAD = "Load"
UNLOAD = "Unload"
CANCEL = "Cancel"
DOWNLOAD = "Download"
DOWNLOAD_AGAIN = "Download again"
DOWNLOAD_ANYWAY = "Download anyway"
PAUSE = "Pause"
RESUME = "Resume"
TRY_AGAIN = "Try again"
TRY_NOW = "Try now"
TRY_ANYWAY = "Try anyway"
MEASURE = "Measure…"
DETAILS = "Details…"
DELETE = "Delete…"
FORGET = "Remove from list"
COPY_IN = "Copy into models folder"
SHOW_IN_FOLDER = "Show in folder"
CLEAR_CACHE = "Clear cache"
TOKEN = "Token…"
OPEN_PAGE = "Open page"
OPEN_LICENCE = "Open licence page"
MORE = "More about {name}"
COPY_PATH = "Copy path"

# Facts
CONTEXT = "context {tokens}"
CACHE_SUFFIX = "{size} + {cache} cache"
LOADED_ON = "loaded on {backend}"
LOADING_HERE = "loading… (this can take a while)"
LOAD_FAILED = "load failed: {reason}"
COMES_WITH = "comes with Tandem"
LAST_USED = "used {when}"
KNOWN_PROBLEM = "known problem with this file"
KNOWN_PROBLEM_TITLE = "Known problem: {name}"
KNOWN_PROBLEMS = {
    "byte_pieces": "The tokenizer in this file was converted wrongly: emoji and some other "
    "characters may come out as pieces such as “ĠðŁ”. Tandem shows them as they come; another "
    "file of the same model may be better.",
}
NEEDS_MEMORY = "needs about {size} of memory"
NEEDS_RUNTIME = "needs engine {wanted}, Tandem has {have}"
LICENCE_FIRST = "licence to accept on Hugging Face, token needed"
INCOMPLETE = "File is incomplete: {have} of {want} bytes"
FITS = {
    "fits": "fits",
    "slow": "slow here",
    "wont_fit": "won’t fit in memory",
    "no_disk": "not enough disk space",
}
SOURCES = {
    "own": "",
    "bundled": COMES_WITH,
    "folder": "from {folder}",
    "opened": "from {folder}",
    "litert_lm": "from the litert-lm tool",
    "hub_cache": "from the Hugging Face cache",
}

# States of a download
QUEUED = "Waiting for another download"
CONNECTING = "Connecting…"
VERIFYING = "Checking the file…"
PAUSED = "Paused at {done}"
STALLED = "stalled for {seconds} s"
WAITING = "trying again in {seconds} s"
ORPHAN = "Left over from a download that cannot go on"
NOTES = {
    "changed": "the file on the server changed: began again",
    "no_range": "the server cannot continue downloads: began again",
    "checksum_again": "the first copy was damaged: began again",
}

_FAILURES: dict[str, str] = {
    "token_needed": "{host} wants a token for this model.",
    "token_bad": "{host} does not accept the token. It may have expired or been removed.",
    "licence_needed": "The licence of this model is not accepted yet. Accept it on its page, "
    "then try again.",
    "forbidden": "{host} refuses this file.",
    "repo_unknown": "{host} knows no such model, or it is private.",
    "gone": "The file is no longer on {host}.",
    "rate_limited": "{host} asks to wait: too many requests.",
    "server_error": "{host} has a problem (error {status}).",
    "captive_portal": "A web page came instead of the model. This network may want you to log "
    "in: open a browser, then try again.",
    "not_a_model": "What {host} sent is not a model.",
    "incomplete": "The download ended, but the model in it is incomplete.",
    "range_refused": "{host} would not continue the download. Try again from the beginning.",
    "wrong_size": "The size is wrong: {expected} bytes were announced, {got} came.",
    "checksum": "The download was damaged on its way and has been removed.",
    "no_space": "Not enough disk space: the file needs {file}, its engine cache {cache}; "
    "{free} are free.",
    "no_space_cache": "The file ({file}) fits, but its engine cache ({cache}) does not; "
    "{free} are free.",
    "disk_full": "The disk is full: {needed} more are needed, {free} are free. What came so "
    "far is kept.",
    "write_failed": "The file cannot be written: {reason}.",
    "unreachable": "{host} cannot be reached. Are you online?",
    "tls": "The connection to {host} is not secure: its certificate is not trusted.",
    "proxy": "The system’s proxy cannot be used ({reason}).",
    "cut": "The connection to {host} keeps breaking.",
    "bad_redirect": "{host} sends to an address that cannot be trusted.",
    "bad_url": "This is no model on Hugging Face. Paste something like owner/name or the "
    "address of its page.",
    "http_error": "{host} answered with error {status}.",
    "bad_listing": "{host} gave an answer that cannot be read.",
    "no_models": "{repo} has no .litertlm files.",
    "broken": "The download stopped because of an error in Tandem ({reason}).",
}

_SIZES = frozenset({"file", "cache", "free", "needed"})
_COUNTS = frozenset({"expected", "got"})

WAYS_ON: dict[str, tuple[str, ...]] = {
    "token_needed": ("token", "page"),
    "token_bad": ("token", "resume"),
    "licence_needed": ("page", "resume"),
    "forbidden": ("resume", "page"),
    "repo_unknown": ("resume", "page"),
    "gone": ("resume", "page"),
    "no_space_cache": ("anyway", "resume"),
}
"""Button ids per code, the most likely first; all others get "resume" (*Try again*)."""


class _Params(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return {"host": "The server", "reason": "no reason given", "repo": "This repository"}.get(
            key, fmt.DASH
        )


def failure_codes() -> frozenset[str]:
    return frozenset(_FAILURES)


def failure(code: str, params: Mapping[str, str]) -> str:
    """The sentence of a failed download. An unknown code gets a general one."""
    shown: dict[str, str] = {}
    for key, value in params.items():
        if key in _SIZES and value.isdecimal():
            shown[key] = fmt.size(int(value))
        elif key in _COUNTS and value.isdecimal():
            shown[key] = f"{int(value):,}"
        else:
            shown[key] = fmt.plain(value, 120)
    return _FAILURES.get(code, "The download stopped.").format_map(_Params(shown))


def ways_on(code: str) -> tuple[str, ...]:
    return WAYS_ON.get(code, ("resume",))


def amount(done: int, total: int | None) -> str:
    """`1.06 of 2.59 GB`, `310 of 584 MB`, `1.06 GB` when the end is unknown."""
    if total is None:
        return fmt.size(done)
    whole, part = fmt.size(total), fmt.size(done)
    unit = whole.rpartition(" ")[2]
    if part.endswith(f" {unit}"):
        part = part.rpartition(" ")[0]
    return f"{part} of {whole}"


def rate(bytes_per_s: float) -> str:
    """`24.1 MB/s`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if bytes_per_s >= factor:
            return f"{bytes_per_s / factor:.1f} {unit}/s"
    return f"{bytes_per_s:.0f} B/s"


def left(seconds: float) -> str:
    """`40 s left`, `1 min left`, `2 h 5 min left`."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min left"
    return f"{minutes // 60} h {minutes % 60} min left"


# Opening and deleting
NOT_LOADED_TITLE = "{name} cannot be loaded"
NEEDS_RUNTIME_ASK = (
    "{name} asks for engine {wanted}; Tandem has {have}. It may fail to load or answer badly."
)
DELETE_TITLE = "Delete {name}?"
DELETE_TEXT = (
    "This frees {freed}: {file} for the model and {cache} of engine cache. The file goes to the "
    "trash when Tandem quits; until then it can be brought back."
)
DELETE_VERB = "Delete"
DELETED = "{name} was deleted. {freed} will be free."
DELETE_LOADED_TITLE = "{name} is loaded"
DELETE_LOADED_TEXT = "Unload it first, then it can be deleted."
UNLOAD_AND_DELETE = "Unload and delete"
DELETE_FAILED = "{name} could not be deleted: {reason}."
UNDO = "Undo"
UNDO_FAILED = "{name} could not be brought back: {reason}."
RECORDS_NOT_WRITTEN = (
    "Which models were opened and used could not be saved: {reason}. It is known until Tandem ends."
)
COPIED_IN = "{name} was copied into the models folder."
COPY_FAILED = "{name} could not be copied: {reason}."
DOWNLOADED = "{name} is downloaded and checked."
OPENED_ANNOUNCE = "{name} was added to the list."
DOWNLOAD_FAILED_TITLE = "Download of {name} stopped"

# Adding from the hub
ADD_TITLE = "Add from Hugging Face"
ADD_TEXT = "Paste a repository (owner/name) or the address of a model page."
ADD_FIELD = "Repository or address"
ADD_LIST = "Find models"
ADD_LOOKING = "Asking {host}…"
ADD_FOUND = "{count} in {repo}"
ADD_HERE = "already here"
ADD_STARTED = "downloading"

# Token
TOKEN_TITLE = "Hugging Face token"
TOKEN_TEXT = (
    "Some models are given only to accounts that accepted their licence. Make a token with read "
    "access on your account page and paste it here. It is sent to {host} and to nobody else."
)
TOKEN_FIELD = "Token"
TOKEN_SAVE = "Test and save"
TOKEN_TESTING = "Testing the token…"
TOKEN_REMOVE = "Remove token"
TOKEN_PAGE = "Open account page"
TOKEN_GOOD = "The token works: it belongs to {name}."
TOKEN_KEPT = {
    "nowhere": "There is no token.",
    "keyring": "A token is kept in this system’s keyring.",
    "session": "A token is kept until Tandem quits: no keyring is available here.",
}
TOKEN_REMOVED = "The token was removed."
TOKEN_NOT_REMOVED = (
    "The token is no longer used, but the keyring did not confirm that it was removed."
)

# Storage
STORAGE_TITLE = "Storage"
FOLDERS = "Model folders"
OWN_FOLDER = "Downloads go here"
ADD_FOLDER = "Add folder…"
REMOVE_FOLDER = "Remove"
SHOW_FOLDER = "Show"
CACHE = "Engine cache"
CACHE_TEXT = (
    "The engine keeps compiled parts of a model so that it loads faster the next time. They can "
    "be as large as the model and are made again when needed."
)
CACHE_MODES = {
    "disk": ("On disk", "loads faster the next time"),
    "memory": ("In memory", "CPU only; nothing is written"),
    "no": ("Off", "slower to load, nothing is kept"),
    "folder": ("Folder…", "on disk, in a folder you choose"),
}
CACHE_TOTAL = "{size} on disk"
CACHE_EMPTY = "Nothing is cached."
CACHE_OLD = "{name}, from engine {version}"
CACHE_IN_USE = "used by the loaded model"
CACHE_UNKNOWN = "a model that is no longer here"
CLEAR = "Clear"
CLEAR_ALL = "Clear all"
CAP = "Keep at most"
CAP_NONE = "no limit"
CLEARED = "{size} freed."
NOT_CLEARED = "The cache could not be deleted: its files are in use or read-only."
NEXT_LOAD = "Takes effect at the next load."

# Details
DETAILS_TITLE = "About {name}"
GROUP_FILE = "File"
GROUP_ABILITIES = "What it can do"
GROUP_SAMPLER = "Sampler defaults"
GROUP_LICENCE = "Licence and attribution"
GROUP_SECTIONS = "Sections"
GROUP_TEMPLATE = "Prompt template"
CHECKSUM = "sha256"
CHECKSUM_MAKE = "Compute"
CHECKSUM_WORKING = "Computing…"
CHECKSUM_GOOD = "{sha256} (as published)"
CHECKSUM_FAILED = "The file could not be read: {reason}."
CHECKSUM_BAD = "{sha256} (differs from the published {expected})"
NO_LICENCE = "The file names no licence."
COPY = "Copy"
