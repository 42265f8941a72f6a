"""Makes variants of a `.litertlm` bundle for tests by rewriting its metadata.

The weights are copied as they are. Uses litert-lm-builder, which is pinned to the engine's
version. A variant that thinks or calls tools does so only under a regex constraint: the
demo model is too small to do it on its own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from google.protobuf import text_format
from litert_lm_builder import litertlm_builder
from litert_lm_builder.runtime.proto import llm_metadata_pb2

TOOL_LIST = (
    "{% if tools %}{{ '<|im_start|>system\\nTools: ' + (tools | tojson) + '<|im_end|>\\n' }}"
    "{% endif %}"
)


def rewrite(
    source: Path,
    target: Path,
    *,
    plain: bool = False,
    thinking: bool = False,
    tools: bool = False,
    min_runtime: str | None = None,
    max_tokens: int | None = None,
) -> Path:
    """Writes `target` and returns it. `plain` drops the drafter, `thinking` declares a
    reasoning channel between <think> tags, `tools` declares <tool_call> function calling."""
    with tempfile.TemporaryDirectory() as folder:
        parts = Path(folder) / "parts"
        litertlm_builder.unpack(str(source), str(parts))
        text_file = next(parts.glob("LlmMetadata*.pbtext"))
        meta = text_format.Parse(text_file.read_text(), llm_metadata_pb2.LlmMetadata())
        if thinking:
            meta.supports_thinking = True
            channel = meta.channels.add()
            channel.channel_name, channel.start, channel.end = "thought", "<think>", "</think>"
            channel.is_reasoning_channel = True
        if tools:
            _declare_tools(meta)
        if min_runtime is not None:
            meta.min_runtime_version = min_runtime
        if max_tokens is not None:
            meta.max_num_tokens = max_tokens
        text_file.write_text(text_format.MessageToString(meta))
        toml = parts / "model.toml"
        if plain:
            toml.write_text(_without_drafter(toml.read_text()))
        litertlm_builder.pack(str(toml), str(target))
    return target


def _declare_tools(meta: llm_metadata_pb2.LlmMetadata) -> None:
    meta.supports_function_calling = True
    meta.llm_model_type.Clear()
    meta.llm_model_type.qwen3.code_fence_start = "<tool_call>"
    meta.llm_model_type.qwen3.code_fence_end = "</tool_call>"
    meta.llm_model_type.qwen3.escape_fence_strings = True
    meta.jinja_prompt_template = TOOL_LIST + meta.jinja_prompt_template


def _without_drafter(toml: str) -> str:
    head, *sections = toml.split("[[section]]")
    kept = [s for s in sections if 'model_type = "mtp_drafter"' not in s]
    return "[[section]]".join([head, *kept])
