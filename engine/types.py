"""Plain values shared by the engine, the program and the window.

Everything here is an immutable `msgspec.Struct`, so it may cross threads and processes
as bytes. Nothing here imports Qt, cffi or another module of ours.

Units: times in seconds, speeds in tokens per second, sizes in bytes. A number that is
not known is `None` and is shown as "—"; it is never 0.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

LIBRARY_VERSION = "0.18.1"
"""The only LiteRT-LM version this program talks to (pinned; see `engine.library`)."""


class Backend(StrEnum):
    """Where the main model runs. Values are the names the native library takes."""

    CPU = "cpu"
    GPU = "gpu"
    NPU = "npu"


class SpecMode(StrEnum):
    """What a person chose for speculation. The engine itself only gets true or false."""

    OFF = "off"
    ON = "on"
    AUTO = "auto"


class Modality(StrEnum):
    TEXT = "text"
    VISION = "vision"
    AUDIO = "audio"


class FinishReason(StrEnum):
    """Why a turn ended. Four different states for a person, plus tool calls and errors."""

    END = "end"
    STOPPED = "stopped"
    LIMIT = "limit"
    CONTEXT_FULL = "context_full"
    TOOL_CALLS = "tool_calls"
    ERROR = "error"


class ConstraintKind(StrEnum):
    REGEX = "regex"
    JSON_SCHEMA = "json_schema"


class FileState(StrEnum):
    """What the header of a model file says before any load."""

    OK = "ok"
    INCOMPLETE = "incomplete"
    NEEDS_RUNTIME = "needs_runtime"


class Section(msgspec.Struct, frozen=True):
    """One entry of the container's section table: `begin`/`end` are byte offsets."""

    kind: str
    model_type: str
    begin: int
    end: int


class SamplerDefaults(msgspec.Struct, frozen=True):
    """The sampler stored in the model file; `None` where the file says nothing."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts read from a `.litertlm` header without loading the model.

    `supports_mtp` is None when the file could not tell. `max_context` is the declared
    maximum in tokens, None when the file does not say. `expected_bytes` comes from the
    section table; a smaller file is incomplete. `prefill_sizes` are the work group sizes
    of the main model in tokens, ascending, empty when the file could not tell.
    `media_markers` are the words its template writes where an image or a sound goes.
    """

    path: str
    name: str
    file_bytes: int
    expected_bytes: int
    mtime_ns: int
    state: FileState
    sections: tuple[Section, ...] = ()
    supports_mtp: bool | None = None
    supports_thinking: bool = False
    supports_tools: bool = False
    modalities: tuple[Modality, ...] = (Modality.TEXT,)
    backends: tuple[Backend, ...] = (Backend.CPU, Backend.GPU)
    max_context: int | None = None
    dynamic_context: bool = False
    min_runtime: str | None = None
    model_type: str = ""
    sampler: SamplerDefaults = SamplerDefaults()
    stop_tokens: tuple[str, ...] = ()
    prompt_template: str = ""
    metadata: dict[str, str] = {}
    prefill_sizes: tuple[int, ...] = ()
    media_markers: tuple[str, ...] = ()


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything fixed when a model is loaded. Two equal values mean the same engine.

    `context_tokens` 0 asks for the default (4096 or the model's maximum if smaller);
    `threads` 0 means what `engine.threads` says. `cache` is "disk", "memory", "no" or a
    folder path; "disk" uses `cache_dir`, which is created before the load.
    `prefill_tokens`/`decode_tokens` > 0 make a synthetic benchmark engine: the prompt is
    padded or cut and stop tokens are ignored, so its replies are not answers.
    """

    model_path: str
    backend: Backend = Backend.CPU
    context_tokens: int = 0
    threads: int = 0
    cache: str = "disk"
    cache_dir: str = ""
    speculative: bool = False
    vision: bool = False
    audio: bool = False
    gpu_float16: bool = False
    prefill_tokens: int = 0
    decode_tokens: int = 0


class LoadedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that is ready. `options` are the effective ones; `notes` are codes such as
    "cache_cleared" or "cache_off" that tell which fallback the load needed.

    `adapter` and `adapter_type` come from the engine's log on GPU, None on CPU; `threads` is
    what the engine was given on CPU, None on GPU.
    """

    info: ModelInfo
    options: LoadOptions
    load_seconds: float
    context_tokens: int
    library_version: str
    pid: int
    adapter: str | None = None
    adapter_type: str | None = None
    threads: int | None = None
    notes: tuple[str, ...] = ()


class UnloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine said when it went away.

    `acceptance_rate` is accepted / drafted over the whole life of that engine, parsed
    from the log line the library prints when a drafter is destroyed; None without one.
    `peak_memory` is the highest resident size of the engine process in bytes.
    """

    acceptance_rate: float | None = None
    peak_memory: int | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Sampler settings of one send. While speculating only `max_output_tokens` acts.

    `seed` None means a fresh random seed per conversation. Greedy is `top_k` 1.
    """

    temperature: float = 0.8
    top_p: float = 0.95
    top_k: int = 40
    seed: int | None = None
    max_output_tokens: int | None = None
    repetition_penalty: float | None = None


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    text: str


class ImagePart(msgspec.Struct, frozen=True, tag="image"):
    path: str


class AudioPart(msgspec.Struct, frozen=True, tag="audio"):
    path: str


class ToolResultPart(msgspec.Struct, frozen=True, tag="tool_result"):
    """The answer of a tool, as JSON text, for a message of role "tool"."""

    name: str
    result_json: str


Part = TextPart | ImagePart | AudioPart | ToolResultPart


class ToolCall(msgspec.Struct, frozen=True):
    """A call asked for by the model. `arguments_json` is JSON text exactly as parsed from
    the engine; integers beyond 2**53 survive because it stays text."""

    name: str
    arguments_json: str


class Message(msgspec.Struct, frozen=True):
    """One message as the engine sees it: role is "user", "assistant" or "tool"."""

    role: str
    parts: tuple[Part, ...]
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, TextPart))


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool offered to the model; `parameters_json` is a JSON schema object as text."""

    name: str
    description: str
    parameters_json: str


class Constraint(msgspec.Struct, frozen=True):
    """Forces the form of one answer. Sent with speculation off (0.18.1 cannot do both)."""

    kind: ConstraintKind
    text: str


class GenerateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One send. `history` are all earlier messages of the active branch, oldest first.

    The engine reuses the resident conversation or a checkpoint of `chat_key` when
    (system, tools, speculative, sampling, thinking, history) match what it holds, else it
    rebuilds the conversation from `history`. `keep` False drops it afterwards (one-shot).
    `record_times` asks for chunk arrival times in the outcome.
    """

    run_id: int
    chat_key: str
    message: Message
    history: tuple[Message, ...] = ()
    system: str = ""
    sampling: Sampling = Sampling()
    speculative: bool = False
    thinking: bool = False
    thinking_budget: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    constraint: Constraint | None = None
    keep: bool = True
    record_times: bool = False


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of the last turn. All but `elapsed_s` and `steps` are the engine's own.

    `steps` counts non-empty stream chunks: while speculating one chunk is one verify step
    (engine-facts), so `decode_tokens / steps` is tokens/step; off it is about 1.
    """

    elapsed_s: float
    ttft_s: float | None = None
    init_s: float | None = None
    prefill_tokens: int | None = None
    decode_tokens: int | None = None
    prefill_tps: float | None = None
    decode_tps: float | None = None
    steps: int | None = None

    @property
    def tokens_per_step(self) -> float | None:
        if not self.decode_tokens or not self.steps:
            return None
        return self.decode_tokens / self.steps


class ErrorInfo(msgspec.Struct, frozen=True):
    """An error of `engine.errors` as a plain value: `code` names the class and the
    sentence; `detail` is the raw text of the engine; `params` fill the sentence."""

    code: str
    detail: str = ""
    params: dict[str, str] = {}


class TextBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Text that arrived within one batching window (about 25 ms), in order.

    `steps` and `elapsed_s` are totals since the send, for the live gauge: `first_s` is
    the time of the first non-empty chunk after the send. `tokens` is about how many tokens
    the text so far has, by the model's own tokenizer; only while speculating, where a chunk
    holds several, else None.
    """

    run_id: int
    text: str = ""
    thought: str = ""
    steps: int = 0
    elapsed_s: float = 0.0
    first_s: float | None = None
    tokens: int | None = None


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """An image or sound of an earlier message that was not sent: the load takes no `kind`
    ("image" or "audio"), or its file is `gone` or cannot be read."""

    path: str
    kind: str
    gone: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a send ended; exactly one per request.

    `context_used` is the KV entry count of the conversation, None when unknown.
    `resumed` tells what the prompt was built on: "resident", "checkpoint" or "rebuilt".
    `speculative` is what was really used (a constraint forces False).
    `needs`/`left` are tokens, set when a message did not fit (code "message_too_long").
    `unseen` is what of the history was left out of the prompt.
    """

    run_id: int
    reason: FinishReason
    text: str = ""
    thought: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    benchmark: Benchmark | None = None
    context_used: int | None = None
    context_total: int | None = None
    speculative: bool = False
    resumed: str = ""
    error: ErrorInfo | None = None
    needs: int | None = None
    left: int | None = None
    unseen: tuple[Unseen, ...] = ()
    chunk_times: tuple[float, ...] = ()
