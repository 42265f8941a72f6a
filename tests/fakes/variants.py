"""Makes variants of a model file by rewriting its metadata; the weights stay as they are.

A small model does not think or call tools by itself, but a regex constraint (speculation
off) forces the form, so those paths run on the real engine:

    <think>[a-z ]{5,30}</think>[A-Z][a-z ]{5,40}\\.
    <tool_call>\\{"name":"get_time","arguments":\\{"city":"(Paris|London)"\\}\\}</tool_call>

No space before a quote: the demo model's tokenizer tables stop there.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path

from tests.fakes.senses import encoders, give_senses

THINK_REGEX = r"<think>[a-z ]{5,30}</think>[A-Z][a-z ]{5,40}\."
SECTION = """
[[section]]
model_type = "{kind}"
section_type = "TFLiteModel"
data_path = "{kind}.tflite"
"""
TOOL_REGEX = r'<tool_call>\{"name":"get_time","arguments":\{"city":"(Paris|London)"\}\}</tool_call>'


def make_variant(
    source: Path | str,
    target: Path | str,
    *,
    plain: bool = False,
    thinking: bool = False,
    tools: bool = False,
    min_runtime: str | None = None,
    max_tokens: int | None = None,
    template: str | None = None,
    senses: bool = False,
    model_type: str = "",
) -> Path:
    """Writes `target` and returns it. Raises what the builder raises on a bad source.

    `senses` adds the encoders of `tests.fakes.senses`: the model takes images and sounds.
    `model_type` makes the engine treat the prompt like that of such a model ("gemma4").
    """
    from google.protobuf import text_format
    from litert_lm_builder import litertlm_builder
    from litert_lm_builder.runtime.proto import llm_metadata_pb2

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        parts = Path(folder) / "parts"
        litertlm_builder.unpack(str(source), str(parts))
        path = next(parts.glob("LlmMetadata*.pbtext"))
        meta = text_format.Parse(path.read_text(encoding="utf-8"), llm_metadata_pb2.LlmMetadata())
        if thinking:
            meta.supports_thinking = True
            meta.channels.add(
                channel_name="thought", start="<think>", end="</think>", is_reasoning_channel=True
            )
        if tools:
            meta.supports_function_calling = True
            meta.llm_model_type.Clear()
            meta.llm_model_type.qwen3.code_fence_start = "<tool_call>"
            meta.llm_model_type.qwen3.code_fence_end = "</tool_call>"
            meta.llm_model_type.qwen3.escape_fence_strings = True
            meta.jinja_prompt_template = (
                "{% if tools %}{{ '<|im_start|>system\\nTools: ' + (tools | tojson)"
                " + '<|im_end|>\\n' }}{% endif %}" + meta.jinja_prompt_template
            )
        if senses:
            give_senses(meta)
        if model_type:
            meta.llm_model_type.Clear()
            getattr(meta.llm_model_type, model_type).SetInParent()
        if template is not None:
            meta.jinja_prompt_template = template
        if min_runtime is not None:
            meta.min_runtime_version = min_runtime
        if max_tokens is not None:
            meta.max_num_tokens = max_tokens
        path.write_text(text_format.MessageToString(meta), encoding="utf-8")
        toml = parts / "model.toml"
        if plain:
            blocks = re.split(r"(?=^\[\[section\]\])", toml.read_text(encoding="utf-8"), flags=re.M)
            kept = (b for b in blocks if 'model_type = "mtp_drafter"' not in b)
            toml.write_text("".join(kept), encoding="utf-8")
        for kind, data in encoders().items() if senses else ():
            (parts / f"{kind}.tflite").write_bytes(data)
            with toml.open("a", encoding="utf-8") as file:
                file.write(SECTION.format(kind=kind))
        litertlm_builder.pack(str(toml), str(target))
    return Path(target)
