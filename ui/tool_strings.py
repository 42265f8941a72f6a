"""The words of the Tools tab. Pure Python, plain text."""

from __future__ import annotations

TOOLS = "Tools"
SERVERS = "Tool servers…"
BUILTIN_GROUP = "Comes with Tandem"
NO_SERVERS = "Add a local tool server (MCP) to give the model tools of your own."
ASK_FIRST = "Ask before running"
SCHEMA = "Schema"
SCHEMA_OF = "Schema of {name}"
USE_TOOL = "Use {name}"
ASK_OF = "Ask before running {name}"
CHOOSE_FILE = "Choose file…"
REMOVE_FILE = "Remove {name}"
NO_FILES = "No file picked."

CHAT_SWITCH = {True: "Tools: On", False: "Tools: Off"}
CHAT_SWITCH_TIP = "Lets the model call the tools that are on in the Tools tab"

ASK_TAB = "Ask with tools"
STRUCTURED_TAB = "Structured answer"
SUGGESTIONS = (
    ("Battery?", "How full is the battery of this computer?"),
    ("My device?", "What kind of computer is this?"),
    ("Time in Tokyo?", "What time is it in Tokyo now?"),
    ("12.5 × (3 + 4)?", "What is 12.5 * (3 + 4)?"),
    ("5 miles in km?", "How many km are 5 miles?"),
)
QUESTION_HINT = "Ask something a tool can answer"
QUESTION_NAME = "Question"
ASK = "Ask"
STOP = "Stop"
STOPPING = "Stopping…"
CLEAR = "Clear"
EMPTY_LOG = "Each question is a new conversation. What the model calls and gets back appears here."
LOG_NAME = "Log"

YOU = "You:"
CALL = "→ {name}({arguments})"
RESULT = "← {result}"
MODEL = "Model:"
MODEL_NO_CALL = "Model (no tool call):"
ERROR = "Error: {sentence}"
STOPPED = "Stopped by you."
EMPTY = "(empty answer)"
WAITING = "Waiting for the model…"
NOTES = {
    "speculation_off": "Speculation is off for this message: a forced form cannot be drafted.",
    "thinking_off": "Thinking is off for this message: it does not go with a forced form.",
    "result_cut": "The result did not fit into the context; the model got its beginning.",
    "rounds": "Too many calls in a row; nothing more was run.",
    "unreadable_call": (
        "This looks like a tool call, but it cannot be read. Nothing was run; the model was told."
    ),
}
STATES = {"refused": "refused", "failed": "failed", "unknown": "not run"}

CONSENT = "{name} wants to run"
CONSENT_FROM = "{name} from “{source}” wants to run"
ALLOW_ONCE = "Allow once"
ALWAYS = "Always"
REFUSE = "Refuse"
ARGUMENTS = "Arguments"
ANNOUNCE_CONSENT = "The model wants to run {name}. Allow it?"

NO_TOOL_SUPPORT = "{model} cannot call tools."
NO_TOOL_SUPPORT_MORE = "Structured answers work with every model on CPU."
NO_MODEL = "No model is loaded."
NO_MODEL_MORE = "Choose a model to ask it something. A model with the badge “tools” can call them."
GO_STRUCTURED = "Structured answer"
CHOOSE_MODEL = "Choose a model…"
NO_TOOLS_ON = "No tool is switched on."

JSON_SCHEMA = "JSON schema"
REGEX = "Regex"
EXAMPLES = "Examples"
FORM = "Form of the answer"
FORM_TEXT = (
    "The next answers of this conversation keep to this form, and each says whether it does. "
    "Speculation and thinking are off for them."
)
FORM_BUTTON = "Form: {kind}"
FORM_KINDS = {"json_schema": "JSON schema", "regex": "regex"}
FORM_TIP = "Answers of this conversation keep to a form"
USE_FORM = "Use this form"
CHANGE_FORM = "Change form…"
NO_FORM = "No form"
FORM_HINTS = {"json_schema": "A JSON schema", "regex": "A regex for the whole answer"}
PROMPT_HINT = "Message; the answer will have this form"
PROMPT_NAME = "Message"
SEND = "Send"
ANSWER = "Answer"
NO_ANSWER = "The answer and whether it has the form appear here."
CHECKED_VALID = "valid"
CHECKED_INVALID = "not valid"
CHECKED_PARTIAL = "not complete"
COPY = "Copy"

EXAMPLE_FORMS: tuple[tuple[str, str, str, str], ...] = (
    (
        "A person",
        "json_schema",
        """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 30},
    "age": {"type": "integer", "minimum": 0, "maximum": 120},
    "likes": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3}
  },
  "required": ["name", "age", "likes"]
}""",
        "Invent a person who lives by the sea.",
    ),
    (
        "Mood of a text",
        "json_schema",
        """{
  "type": "object",
  "properties": {
    "mood": {"enum": ["good", "neutral", "bad"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1}
  },
  "required": ["mood", "confidence"]
}""",
        "What is the mood of this text: The sun came out and everybody smiled.",
    ),
    ("Yes or no", "regex", "yes|no", "Is a whale a fish?"),
    ("A date", "regex", r"\d{4}-\d{2}-\d{2}", "When did the first people land on the Moon?"),
    (
        "A short list",
        "regex",
        r"(- [a-z ]{3,24}\n){3}",
        "Name three things to take to the beach.",
    ),
)
"""(name, kind, form, message)"""

SERVERS_TITLE = "Tool servers"
SERVERS_TEXT = (
    "A tool server is a program on this computer that offers tools (MCP over stdio). "
    "Tandem starts it without a shell and ends it when Tandem closes. Add only programs you trust."
)
SERVER_NAME = "Name"
SERVER_COMMAND = "Command"
SERVER_ARGUMENTS = "Arguments"
SERVER_ARGUMENTS_HINT = "One per line"
SERVER_ENV = "Environment"
SERVER_ENV_HINT = "NAME=value, one per line; stored in the settings file"
ADD = "Add"
SAVE = "Save"
CLOSE = "Close"
REMOVE = "Remove"
EDIT = "Edit"
ADD_SERVER = "Add a server"
RESTART = "Restart"
SHOW_LOG = "Show log"
SERVER_ON = "Start {name} with Tandem"
SERVER_PHASES = {
    "stopped": "off",
    "starting": "starting…",
    "ready": "running",
    "failed": "failed",
}
SERVER_TOOLS = "{count} tools"
ONE_TOOL = "1 tool"
NAME_MISSING = "Give the server a name."
NAME_TAKEN = "There is a server of this name already."
COMMAND_MISSING = "Give the program to start."
ENV_WRONG = "Each line of the environment needs the form NAME=value."
