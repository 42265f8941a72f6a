"""The only door to the native library: Python values in, Python values out.

Threads: every method but `cancel` belongs to the thread that drives the engine; the
library's error report is thread-local, so `_check` clears it, calls, and reads it on the
same thread. `on_chunk` of `stream_callback` runs on native threads.

Ownership: creators return a `Handle`; whoever asked closes it. Strings returned by the
library are copied before the next call.

Errors: `NativeError` with the library's code (absl's 0-16) and text. `Any` stands for
opaque C pointers and is used in this module alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engine.handles import Handle
from engine.library import OpenLibrary, open_library
from engine.native_values import NativeError, TurnNumbers

Owned: TypeAlias = Handle[Any]
ChunkSink: TypeAlias = Callable[[int, bytes | None, bytes | None, bool], None]

LOG_INFO = 2
TOP_P = 2
FLOAT32, FLOAT16 = 0, 1
REGEX, JSON_SCHEMA = 1, 2
LL_GUIDANCE = 1
MODALITY_VISION, MODALITY_AUDIO = 1, 2


class Native:
    """Typed calls into one opened library."""

    def __init__(self, opened: OpenLibrary | None = None) -> None:
        opened = opened or open_library()
        self._ffi, self._lib = opened.ffi, opened.lib
        self.features = opened.features
        self._callback: Any = None

    # -- errors -------------------------------------------------------------------------

    def _clear(self) -> None:
        if "errors" in self.features:
            self._lib.litert_lm_clear_last_error()

    def _error(self, what: str) -> NativeError:
        if "errors" not in self.features:
            return NativeError(what)
        code = int(self._lib.litert_lm_get_last_error_code())
        message = self._text(self._lib.litert_lm_get_last_error_message()) or ""
        self._lib.litert_lm_clear_last_error()
        return NativeError(what, code, message)

    def _create(self, what: str, delete: str, *args: Any) -> Owned:
        """Calls creator `what`, owning the result with deleter `delete`."""
        self._clear()
        pointer = getattr(self._lib, "litert_lm_" + what)(*args)
        if pointer == self._ffi.NULL:
            raise self._error(what)
        return Handle(what, pointer, getattr(self._lib, "litert_lm_" + delete))

    def _set(self, name: str, handle: Owned, *args: Any) -> None:
        getattr(self._lib, "litert_lm_" + name)(handle.pointer, *args)

    def _c(self, text: str | None) -> Any:
        return self._ffi.NULL if text is None else text.encode("utf-8", "surrogateescape")

    def _text(self, pointer: Any) -> str | None:
        if pointer == self._ffi.NULL:
            return None
        return bytes(self._ffi.string(pointer)).decode("utf-8", "replace")

    # -- engine -------------------------------------------------------------------------

    def set_log_level(self, level: int) -> None:
        if "log" in self.features:
            self._lib.litert_lm_set_min_log_level(level)

    def settings(self, model: str, backend: str, vision: str | None, audio: str | None) -> Owned:
        args = (self._c(model), self._c(backend), self._c(vision), self._c(audio))
        return self._create("engine_settings_create", "engine_settings_delete", *args)

    def set_context(self, settings: Owned, tokens: int) -> None:
        self._set("engine_settings_set_max_num_tokens", settings, tokens)

    def set_threads(self, settings: Owned, count: int) -> None:
        if "threads" in self.features:
            self._set("engine_settings_set_num_threads", settings, count)

    def set_cache_dir(self, settings: Owned, path: str) -> None:
        self._set("engine_settings_set_cache_dir", settings, self._c(path))

    def set_speculative(self, settings: Owned, value: bool) -> None:
        if "engine_speculative" in self.features:
            self._set("engine_settings_set_enable_speculative_decoding", settings, value)

    def set_activation(self, settings: Owned, kind: int) -> None:
        if "activation" in self.features:
            self._set("engine_settings_set_activation_data_type", settings, kind)

    def enable_benchmark(self, settings: Owned) -> None:
        if "benchmark" in self.features:
            self._set("engine_settings_enable_benchmark", settings)

    def set_synthetic(self, settings: Owned, prefill: int, decode: int) -> None:
        if "synthetic" in self.features:
            self._set("engine_settings_set_num_prefill_tokens", settings, prefill)
            self._set("engine_settings_set_num_decode_tokens", settings, decode)

    def engine(self, settings: Owned) -> Owned:
        return self._create("engine_create", "engine_delete", settings.pointer)

    # -- conversations ------------------------------------------------------------------

    def session_config(
        self, *, top_k: int, top_p: float, temperature: float, seed: int, speculative: bool
    ) -> Owned:
        """Sampler of type TopP (the only one on CPU) with all four values set."""
        config = self._create("session_config_create", "session_config_delete")
        with self._create("sampler_params_create", "sampler_params_delete", TOP_P) as params:
            self._set("sampler_params_set_top_k", params, top_k)
            self._set("sampler_params_set_top_p", params, top_p)
            self._set("sampler_params_set_temperature", params, temperature)
            self._set("sampler_params_set_seed", params, seed)
            self._set("session_config_set_sampler_params", config, params.pointer)
        if "speculative" in self.features:
            self._set("session_config_set_enable_speculative_decoding", config, speculative)
        return config

    def conversation(
        self,
        engine: Owned,
        session: Owned,
        *,
        system: str | None,
        messages: str | None,
        tools: str | None,
        constrained: bool,
        thinking: bool | None,
        thinking_budget: int | None,
    ) -> Owned:
        """Creates a conversation; `system`, `messages` and `tools` are JSON texts."""
        name = "conversation_config_set_"
        make = ("conversation_config_create", "conversation_config_delete")
        with self._create(*make) as config:
            self._set(name + "session_config", config, session.pointer)
            for what, text in (("system_message", system), ("messages", messages)):
                if text is not None:
                    self._set(name + what, config, self._c(text))
            if tools is not None and "tools" in self.features:
                self._set(name + "tools", config, self._c(tools))
            if constrained and "constraint" in self.features:
                self._set(name + "enable_constrained_decoding", config, True)
                provider = self._ffi.new("int*", LL_GUIDANCE)
                self._set(name + "constraint_provider", config, provider)
            if thinking is not None and "thinking" in self.features:
                with self._create("thinking_config_create", "thinking_config_delete") as think:
                    self._set("thinking_config_set_enable_thinking", think, thinking)
                    if thinking_budget is not None:
                        budget = "thinking_config_set_thinking_token_budget"
                        self._set(budget, think, thinking_budget)
                    self._set(name + "thinking_config", config, think.pointer)
            args = (engine.pointer, config.pointer)
            return self._create("conversation_create", "conversation_delete", *args)

    def clone(self, conversation: Owned) -> Owned:
        return self._create("conversation_clone", "conversation_delete", conversation.pointer)

    def optional_args(
        self,
        *,
        max_output: int,
        constraint: tuple[int, str] | None = None,
        penalty: float | None = None,
        suppress: Sequence[int] = (),
    ) -> Owned:
        """`suppress`: tokens that the answer must not have, where the library can do that."""
        name = "conversation_optional_args_"
        args = self._create(name + "create", name + "delete")
        self._set(name + "set_max_output_tokens", args, max_output)
        if constraint is not None and "constraint" in self.features:
            kind, text = constraint
            self._set(name + "set_constraint", args, kind, self._c(text))
        if penalty is not None and "penalty" in self.features:
            make = "repetition_penalty_config_"
            with self._create(make + "create", make + "delete") as config:
                self._set(make + "set_repetition_penalty", config, penalty)
                self._set(name + "set_repetition_penalty_config", args, config.pointer)
        if suppress and "suppress" in self.features:
            make = "suppress_tokens_config_"
            with self._create(make + "create", make + "delete") as config:
                ids = self._ffi.new("int[]", list(suppress))
                self._set(make + "set_suppress_tokens", config, ids, len(suppress))
                self._set(name + "set_suppress_tokens_config", args, config.pointer)
        return args

    def stream_callback(self, on_chunk: ChunkSink) -> None:
        """Installs the one static callback; it lives as long as this object.

        `on_chunk(token, text, error, final)` gets copies and must only store them.
        """
        ffi, lib = self._ffi, self._lib

        def entry(data: Any, chunk: Any) -> None:
            token, text, error, final = 0, None, None, True
            try:
                token = int(ffi.cast("uintptr_t", data))
                final = bool(lib.litert_lm_stream_chunk_is_final(chunk))
                raw = lib.litert_lm_stream_chunk_get_error(chunk)
                error = None if raw == ffi.NULL else bytes(ffi.string(raw))
                raw = lib.litert_lm_stream_chunk_get_text(chunk)
                text = None if raw == ffi.NULL else bytes(ffi.string(raw))
            finally:
                on_chunk(token, text, error, final)

        # An exception must not cross into C: cffi swallows it, `onerror` keeps it silent.
        self._callback = ffi.callback(
            "void(void*, void*)", entry, onerror=lambda kind, error, trace: None
        )

    def send(
        self, conversation: Owned, message: str, args: Owned, token: int, extra: str = "{}"
    ) -> None:
        """Starts a streaming send; chunks carry `token`. `args` must live until the end.

        `extra` is a JSON object of variables for the model's template.
        """
        self._clear()
        status = self._lib.litert_lm_conversation_send_message_stream(
            conversation.pointer,
            self._c(message),
            self._c(extra),
            args.pointer,
            self._callback,
            self._ffi.cast("void*", token),
        )
        if status != 0:
            raise self._error("conversation_send_message_stream")

    def send_and_wait(self, conversation: Owned, message: str, args: Owned) -> None:
        """Sends and waits for the whole answer, which is thrown away; the GIL is free."""
        what = ("conversation_send_message", "json_response_delete")
        send = (conversation.pointer, self._c(message), b"{}", args.pointer)
        self._create(*what, *send).close()

    def cancel(self, conversation: Owned) -> None:
        """Any thread; the caller makes sure that the conversation is not deleted meanwhile."""
        self._lib.litert_lm_conversation_cancel_process(conversation.pointer)

    def token_count(self, conversation: Owned) -> int | None:
        if "token_count" not in self.features:
            return None
        count = int(self._lib.litert_lm_conversation_get_token_count(conversation.pointer))
        return count if count >= 0 else None

    def render_message(self, conversation: Owned, message: str) -> str | None:
        if "render" not in self.features:
            return None
        name = "litert_lm_conversation_render_message_to_string"
        return self._text(getattr(self._lib, name)(conversation.pointer, self._c(message)))

    def render_preface(self, conversation: Owned) -> str | None:
        if "render" not in self.features:
            return None
        name = "litert_lm_conversation_render_preface_to_string"
        return self._text(getattr(self._lib, name)(conversation.pointer))

    def turn_numbers(self, conversation: Owned, since: TurnNumbers) -> TurnNumbers:
        """Figures of the turns after `since`; counts are read first, getters check no index."""
        if "benchmark" not in self.features:
            return since
        info = self._lib.litert_lm_conversation_get_benchmark_info(conversation.pointer)
        if info == self._ffi.NULL:
            return since

        def get(name: str, *args: int) -> Any:
            return getattr(self._lib, "litert_lm_benchmark_info_get_" + name)(info, *args)

        def total(kind: str, first: int, last: int) -> tuple[int | None, float | None]:
            count, seconds = 0, 0.0
            for i in range(first, last):
                tokens = int(get(f"{kind}_token_count_at", i))
                speed = float(get(f"{kind}_tokens_per_sec_at", i))
                count += tokens
                seconds += tokens / speed if speed > 0 else 0.0
            return (count, seconds) if last > first else (None, None)

        try:
            prefills, decodes = int(get("num_prefill_turns")), int(get("num_decode_turns"))
            prefill = total("prefill", since.prefill_turns, prefills)
            decode = total("decode", since.decode_turns, decodes)
            return TurnNumbers(
                prefill_turns=prefills,
                decode_turns=decodes,
                init_s=float(get("total_init_time_in_second")),
                first_ttft_s=float(get("time_to_first_token")) if decodes > 0 else None,
                prefill_tokens=prefill[0],
                prefill_s=prefill[1],
                decode_tokens=decode[0],
                decode_s=decode[1],
            )
        finally:
            self._lib.litert_lm_benchmark_info_delete(info)

    # -- tokens -------------------------------------------------------------------------

    def tokenize(self, engine: Owned, text: str) -> tuple[int, ...]:
        what = ("engine_tokenize", "tokenize_result_delete")
        with self._create(*what, engine.pointer, self._c(text)) as result:
            count = self._lib.litert_lm_tokenize_result_get_num_tokens(result.pointer)
            ids = self._lib.litert_lm_tokenize_result_get_tokens(result.pointer)
            return tuple(self._ffi.unpack(ids, count)) if count else ()

    def detokenize(self, engine: Owned, ids: Sequence[int]) -> str:
        data = self._ffi.new("int[]", list(ids))
        what = ("engine_detokenize", "detokenize_result_delete")
        with self._create(*what, engine.pointer, data, len(ids)) as result:
            text = self._lib.litert_lm_detokenize_result_get_string(result.pointer)
            return self._text(text) or ""

    # -- model facts --------------------------------------------------------------------

    def file_facts(self, path: str) -> dict[str, int] | None:
        """What the library itself says about a file; `None` when it cannot tell."""
        if "model_info" not in self.features:
            return None
        try:
            with self._create("loaded_file_create", "loaded_file_delete", self._c(path)) as file:
                get = {
                    name: int(getattr(self._lib, "litert_lm_loaded_file_" + name)(file.pointer))
                    for name in (
                        "max_context_tokens",
                        "is_dynamic_context",
                        "has_speculative_decoding_support",
                        "supports_thinking",
                        "supports_function_calling",
                    )
                }
                modality = self._lib.litert_lm_loaded_file_supports_input_modality
                get["vision"] = int(modality(file.pointer, MODALITY_VISION))
                get["audio"] = int(modality(file.pointer, MODALITY_AUDIO))
                return get
        except NativeError:
            return None
