"""C declarations of the LiteRT-LM 0.18.1 library, for cffi's ABI mode. Facts only.

All opaque types are `void`; setters return nothing in this version and check nothing.
`REQUIRED` symbols make a library usable at all. The others belong to one feature each:
when one is missing, that feature is off and everything else works (`OPTIONAL`).
"""

from __future__ import annotations

CDEF = """
typedef void (*tandem_stream_callback)(void* data, void* chunk);

void litert_lm_set_min_log_level(int level);
int litert_lm_get_last_error_code(void);
const char* litert_lm_get_last_error_message(void);
void litert_lm_clear_last_error(void);

void* litert_lm_engine_settings_create(const char* model, const char* backend,
                                       const char* vision, const char* audio);
void litert_lm_engine_settings_delete(void* settings);
void litert_lm_engine_settings_set_max_num_tokens(void* settings, int value);
void litert_lm_engine_settings_set_num_threads(void* settings, int value);
void litert_lm_engine_settings_set_cache_dir(void* settings, const char* path);
void litert_lm_engine_settings_set_enable_speculative_decoding(void* settings, _Bool value);
void litert_lm_engine_settings_set_activation_data_type(void* settings, int value);
void litert_lm_engine_settings_enable_benchmark(void* settings);
void litert_lm_engine_settings_set_num_prefill_tokens(void* settings, int value);
void litert_lm_engine_settings_set_num_decode_tokens(void* settings, int value);
void* litert_lm_engine_create(void* settings);
void litert_lm_engine_delete(void* engine);

void* litert_lm_sampler_params_create(int type);
void litert_lm_sampler_params_delete(void* params);
void litert_lm_sampler_params_set_top_k(void* params, int value);
void litert_lm_sampler_params_set_top_p(void* params, float value);
void litert_lm_sampler_params_set_temperature(void* params, float value);
void litert_lm_sampler_params_set_seed(void* params, int value);

void* litert_lm_session_config_create(void);
void litert_lm_session_config_delete(void* config);
void litert_lm_session_config_set_sampler_params(void* config, void* params);
void litert_lm_session_config_set_enable_speculative_decoding(void* config, _Bool value);

void* litert_lm_conversation_config_create(void);
void litert_lm_conversation_config_delete(void* config);
void litert_lm_conversation_config_set_session_config(void* config, void* session_config);
void litert_lm_conversation_config_set_system_message(void* config, const char* json);
void litert_lm_conversation_config_set_tools(void* config, const char* json);
void litert_lm_conversation_config_set_messages(void* config, const char* json);
void litert_lm_conversation_config_set_enable_constrained_decoding(void* config, _Bool value);
void litert_lm_conversation_config_set_constraint_provider(void* config, const int* provider);
void litert_lm_conversation_config_set_thinking_config(void* config, void* thinking);

void* litert_lm_thinking_config_create(void);
void litert_lm_thinking_config_delete(void* config);
void litert_lm_thinking_config_set_enable_thinking(void* config, _Bool value);
void litert_lm_thinking_config_set_thinking_token_budget(void* config, int value);

void* litert_lm_repetition_penalty_config_create(void);
void litert_lm_repetition_penalty_config_delete(void* config);
void litert_lm_repetition_penalty_config_set_repetition_penalty(void* config, float value);

void* litert_lm_suppress_tokens_config_create(void);
void litert_lm_suppress_tokens_config_delete(void* config);
void litert_lm_suppress_tokens_config_set_suppress_tokens(void* config, const int* ids, size_t n);

void* litert_lm_conversation_optional_args_create(void);
void litert_lm_conversation_optional_args_delete(void* args);
void litert_lm_conversation_optional_args_set_max_output_tokens(void* args, int value);
void litert_lm_conversation_optional_args_set_constraint(void* args, int kind, const char* text);
void litert_lm_conversation_optional_args_set_repetition_penalty_config(void* args, void* config);
void litert_lm_conversation_optional_args_set_suppress_tokens_config(void* args, void* config);

void* litert_lm_conversation_create(void* engine, void* config);
void litert_lm_conversation_delete(void* conversation);
void* litert_lm_conversation_clone(void* conversation);
int litert_lm_conversation_send_message_stream(void* conversation, const char* message,
    const char* extra_context, void* args, tandem_stream_callback callback, void* data);
void* litert_lm_conversation_send_message(void* conversation, const char* message,
    const char* extra_context, void* args);
void litert_lm_json_response_delete(void* response);
void litert_lm_conversation_cancel_process(void* conversation);
const char* litert_lm_conversation_render_message_to_string(void* conversation, const char* json);
const char* litert_lm_conversation_render_preface_to_string(void* conversation);
int litert_lm_conversation_get_token_count(void* conversation);
void* litert_lm_conversation_get_benchmark_info(void* conversation);

void litert_lm_benchmark_info_delete(void* info);
double litert_lm_benchmark_info_get_time_to_first_token(void* info);
double litert_lm_benchmark_info_get_total_init_time_in_second(void* info);
int litert_lm_benchmark_info_get_num_prefill_turns(void* info);
int litert_lm_benchmark_info_get_num_decode_turns(void* info);
int litert_lm_benchmark_info_get_prefill_token_count_at(void* info, int index);
int litert_lm_benchmark_info_get_decode_token_count_at(void* info, int index);
double litert_lm_benchmark_info_get_prefill_tokens_per_sec_at(void* info, int index);
double litert_lm_benchmark_info_get_decode_tokens_per_sec_at(void* info, int index);

const char* litert_lm_stream_chunk_get_text(void* chunk);
_Bool litert_lm_stream_chunk_is_final(void* chunk);
const char* litert_lm_stream_chunk_get_error(void* chunk);

void* litert_lm_engine_tokenize(void* engine, const char* text);
void litert_lm_tokenize_result_delete(void* result);
const int* litert_lm_tokenize_result_get_tokens(void* result);
size_t litert_lm_tokenize_result_get_num_tokens(void* result);
void* litert_lm_engine_detokenize(void* engine, const int* ids, size_t count);
void litert_lm_detokenize_result_delete(void* result);
const char* litert_lm_detokenize_result_get_string(void* result);

void* litert_lm_loaded_file_create(const char* path);
void litert_lm_loaded_file_delete(void* file);
unsigned int litert_lm_loaded_file_max_context_tokens(void* file);
_Bool litert_lm_loaded_file_is_dynamic_context(void* file);
_Bool litert_lm_loaded_file_has_speculative_decoding_support(void* file);
_Bool litert_lm_loaded_file_supports_thinking(void* file);
_Bool litert_lm_loaded_file_supports_function_calling(void* file);
_Bool litert_lm_loaded_file_supports_input_modality(void* file, int modality);
"""

_P = "litert_lm_"

REQUIRED: frozenset[str] = frozenset(
    _P + name
    for name in (
        "engine_settings_create",
        "engine_settings_delete",
        "engine_settings_set_max_num_tokens",
        "engine_settings_set_cache_dir",
        "engine_create",
        "engine_delete",
        "session_config_create",
        "session_config_delete",
        "session_config_set_sampler_params",
        "sampler_params_create",
        "sampler_params_delete",
        "sampler_params_set_top_k",
        "sampler_params_set_top_p",
        "sampler_params_set_temperature",
        "sampler_params_set_seed",
        "conversation_config_create",
        "conversation_config_delete",
        "conversation_config_set_session_config",
        "conversation_config_set_system_message",
        "conversation_config_set_messages",
        "conversation_create",
        "conversation_delete",
        "conversation_send_message_stream",
        "conversation_cancel_process",
        "conversation_optional_args_create",
        "conversation_optional_args_delete",
        "conversation_optional_args_set_max_output_tokens",
        "stream_chunk_get_text",
        "stream_chunk_is_final",
        "stream_chunk_get_error",
    )
)

_FEATURES: dict[str, tuple[str, ...]] = {
    "errors": ("get_last_error_code", "get_last_error_message", "clear_last_error"),
    "log": ("set_min_log_level",),
    "threads": ("engine_settings_set_num_threads",),
    "speculative": ("session_config_set_enable_speculative_decoding",),
    "engine_speculative": ("engine_settings_set_enable_speculative_decoding",),
    "activation": ("engine_settings_set_activation_data_type",),
    "synthetic": (
        "engine_settings_set_num_prefill_tokens",
        "engine_settings_set_num_decode_tokens",
        "conversation_send_message",
        "json_response_delete",
    ),
    "benchmark": (
        "engine_settings_enable_benchmark",
        "conversation_get_benchmark_info",
        "benchmark_info_delete",
        "benchmark_info_get_time_to_first_token",
        "benchmark_info_get_total_init_time_in_second",
        "benchmark_info_get_num_prefill_turns",
        "benchmark_info_get_num_decode_turns",
        "benchmark_info_get_prefill_token_count_at",
        "benchmark_info_get_decode_token_count_at",
        "benchmark_info_get_prefill_tokens_per_sec_at",
        "benchmark_info_get_decode_tokens_per_sec_at",
    ),
    "tools": ("conversation_config_set_tools",),
    "constraint": (
        "conversation_config_set_enable_constrained_decoding",
        "conversation_config_set_constraint_provider",
        "conversation_optional_args_set_constraint",
    ),
    "thinking": (
        "conversation_config_set_thinking_config",
        "thinking_config_create",
        "thinking_config_delete",
        "thinking_config_set_enable_thinking",
        "thinking_config_set_thinking_token_budget",
    ),
    "penalty": (
        "repetition_penalty_config_create",
        "repetition_penalty_config_delete",
        "repetition_penalty_config_set_repetition_penalty",
        "conversation_optional_args_set_repetition_penalty_config",
    ),
    "suppress": (
        "suppress_tokens_config_create",
        "suppress_tokens_config_delete",
        "suppress_tokens_config_set_suppress_tokens",
        "conversation_optional_args_set_suppress_tokens_config",
    ),
    "clone": ("conversation_clone",),
    "token_count": ("conversation_get_token_count",),
    "render": ("conversation_render_message_to_string", "conversation_render_preface_to_string"),
    "tokenize": (
        "engine_tokenize",
        "tokenize_result_delete",
        "tokenize_result_get_tokens",
        "tokenize_result_get_num_tokens",
    ),
    "detokenize": (
        "engine_detokenize",
        "detokenize_result_delete",
        "detokenize_result_get_string",
    ),
    "model_info": (
        "loaded_file_create",
        "loaded_file_delete",
        "loaded_file_max_context_tokens",
        "loaded_file_is_dynamic_context",
        "loaded_file_has_speculative_decoding_support",
        "loaded_file_supports_thinking",
        "loaded_file_supports_function_calling",
        "loaded_file_supports_input_modality",
    ),
}

OPTIONAL: dict[str, tuple[str, ...]] = {
    feature: tuple(_P + name for name in names) for feature, names in _FEATURES.items()
}
"""Feature name -> the symbols it needs."""
