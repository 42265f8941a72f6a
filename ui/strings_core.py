"""Sentences of the program around the engine: switching, failing, restarting, quitting."""

from __future__ import annotations

SWITCH_TITLE = "Switch the model?"
SWITCH_TEXT = (
    "Your conversations and drafts stay. They are rebuilt from their messages on the new "
    "engine with the next message, which takes a moment longer."
)
SWITCH_BUSY = " Answers being written now are stopped; their text so far is kept."
SWITCH_YES = "Switch"

LOAD_FAILED = "{name} was not loaded"
USE_CPU = "Use CPU"
OTHER_FILE = "Choose another model…"
CACHE_OFF = "Load without cache"
LOAD_ANYWAY = "Load anyway"
RESTART_ENGINE = "Restart engine"
SHOW_LOG = "Show log"

NOT_AUTO_LOADED_TITLE = "Not loaded by itself"
NOT_AUTO_LOADED = (
    "{name} on {backend} stopped the engine last time ({exit}), so it was not loaded by itself."
)
MODEL_GONE_TITLE = "Model not found"
MODEL_GONE = "{path} is not there any more. The demo model was loaded instead."

UNRESPONSIVE_TITLE = "Engine restarted"
UNRESPONSIVE = (
    "The engine did not stop within {seconds} s and was ended. It starts again with the next "
    "message."
)

FAILING_TITLE = "The engine keeps failing"
FAILING = (
    "Two messages in a row failed. Restarting the engine often helps; your conversation is kept."
)

STALLED_TITLE = "No progress"
STALLED = "The engine has written nothing for {seconds} s."

TOO_LONG_TITLE = "Message does not fit"
TOO_LONG = (
    "It needs {needs} tokens; {left} are left in the context. The message is back in the box."
)
DROP_OLDEST = "Drop oldest turns"
NEW_CHAT_WITH_IT = "Send in a new chat"
LARGER_CONTEXT = "Larger context…"

TURN_DELETED = "The turn was deleted."
LOADED_NOTES: dict[str, str] = {
    "cache_cleared": "The engine's cache of this model was damaged; it was cleared and made again.",
    "cache_off": "The engine could not use its cache; the model was loaded without it.",
    "cache_no_room": "There is no room on the disk for the engine's cache; the model was loaded "
    "without it.",
    "template_drops_system": "This model's template ignores the system prompt.",
    "template_drops_user": "This model's template ignores your messages; its answers mean nothing.",
}

SETTINGS_SET_ASIDE = (
    "The settings file could not be read. It was kept as {file}; the default settings are used."
)
SETTINGS_VALUE = (
    "The setting {key} had a value that is not possible ({value}); the default is used."
)
SETTINGS_NOT_SAVED = "The settings could not be saved: {reason}."
TEMPORARY_HOME = (
    "Tandem's folder cannot be written ({reason}). Conversations and settings are kept only "
    "until you quit, in {place}."
)
PROBLEM_TITLE = "Something went wrong inside Tandem"
PROBLEM = "An error was written to the log. You can go on; restart Tandem if something looks odd."
NOT_OPENED = "No program of this system could open {what}."
LOG_TITLE = "Log"
LOG_ENGINE = "Engine"
LOG_PROGRAM = "Window"
LOG_FOLDER = "Open folder"
LOG_EMPTY = "Nothing was logged yet."
SETTINGS_TITLE = "Settings"

NO_VULKAN = "Not available: Vulkan is not installed on this computer"
NO_VULKAN_DRIVER = "Not available: no Vulkan driver found"
NO_ADAPTER = "Not available: no usable GPU found"
LACKS_OPERATIONS = "This model uses operations the GPU backend lacks"
THREADS_OF = "{count} threads"
THREADS_ONE = "1 thread"
UP_TO = "up to {count} tokens"
CRASHED_HERE = "stopped the engine last time"

CHECK_TITLE = "Check engine"
CHECKING = "Checking the engine with the demo model…"
CHECK_PASSED = "The engine works on this computer."
