"""A vision and an audio encoder small enough for tests, to give a text model eyes and ears.

Means of squares of the picture, and groups of spectrogram rows, times fixed numbers: vectors
as wide as the demo model's embeddings. They mean nothing to the model, but other pictures and
sounds give other vectors, so another answer, and each takes a known number of tokens.
"""

from __future__ import annotations

import math
from typing import Any

from tests.fakes.tflite import BOOL, Graph

WIDTH = 320
"""Numbers of one embedding of the demo model."""
IMAGE_SIDE, IMAGE_SQUARE = 32, 8
IMAGE_TOKENS = (IMAGE_SIDE // IMAGE_SQUARE) ** 2
"""Every picture takes so many."""
AUDIO_ROWS, AUDIO_BINS, AUDIO_GROUP = 32, 8, 4
AUDIO_TOKENS_PER_S = 25
"""A row is 10 ms; the last of a sound may be cut, so it may take one token less."""
IMAGE_MARK, AUDIO_MARK = "<image>", "<audio>"
"""What the template writes and the engine replaces by the vectors."""

_TEXT = "{% if item['type'] == 'text' %}{{ item['text'] }}{% endif %}"
_ANY = (
    "{% if item['type'] == 'text' %}{{ item['text'] }}"
    "{% elif item['type'] == 'image' %}<image>{% elif item['type'] == 'audio' %}<audio>{% endif %}"
)


def encoders() -> dict[str, bytes]:
    """The sections to add, by model type."""
    return {
        "vision_encoder": vision_encoder(),
        "vision_adapter": vision_adapter(),
        "audio_encoder_hw": audio_encoder(),
        "audio_adapter": audio_adapter(),
    }


def give_senses(meta: Any) -> None:
    """Changes the metadata (an `LlmMetadata` message) of the demo model to go with them."""
    kind = meta.llm_model_type.generic_model
    kind.image_enabled = kind.audio_enabled = True
    kind.delimiter_regex = f"({IMAGE_MARK}|{AUDIO_MARK})"
    kind.image_token_regex, kind.audio_token_regex = f"({IMAGE_MARK})", f"({AUDIO_MARK})"
    kind.image_tensor_height = kind.image_tensor_width = IMAGE_SIDE
    kind.add_image_end = kind.add_audio_end = False  # no vector marks their end
    kind.audio_num_mel_bins = AUDIO_BINS
    kind.audio_normalize_mel = False  # the fixed means and deviations are for 128 bins
    kind.audio_non_zero_hanning = kind.audio_periodic_hanning = True
    assert _TEXT in meta.jinja_prompt_template
    meta.jinja_prompt_template = meta.jinja_prompt_template.replace(_TEXT, _ANY)


def _weights(count: int, scale: float) -> list[float]:
    """Fixed numbers without a pattern, between -scale and scale."""
    return [scale * math.sin(12.9898 * i * i + 78.233 * i) for i in range(count)]


def vision_encoder() -> bytes:
    graph = Graph("vision encoder")
    image = graph.input("images", (1, IMAGE_SIDE, IMAGE_SIDE, 3))
    squares = graph.average_pool(image, IMAGE_SQUARE)
    graph.output(graph.reshape(squares, (1, IMAGE_TOKENS, 3)), "features")
    return graph.data()


def vision_adapter() -> bytes:
    graph = Graph("vision adapter")
    features = graph.input("features", (1, IMAGE_TOKENS, 3))
    graph.output(graph.connect(features, _weights(WIDTH * 3, 1.0), WIDTH), "mm_embedding")
    return graph.data()


def audio_encoder() -> bytes:
    graph = Graph("audio encoder")
    mask = graph.input("mask", (1, AUDIO_ROWS), BOOL)
    rows = graph.input("src_inputs", (1, AUDIO_ROWS, AUDIO_BINS))
    kept = graph.every(mask, AUDIO_GROUP)
    groups = graph.reshape(rows, (1, AUDIO_ROWS // AUDIO_GROUP, AUDIO_BINS * AUDIO_GROUP))
    graph.output(kept, "mask_out")
    graph.output(groups, "features")
    return graph.data()


def audio_adapter() -> bytes:
    graph = Graph("audio adapter")
    count, wide = AUDIO_ROWS // AUDIO_GROUP, AUDIO_BINS * AUDIO_GROUP
    graph.input("mask", (1, count), BOOL)
    features = graph.input("features", (1, count, wide))
    graph.output(graph.connect(features, _weights(WIDTH * wide, 0.1), WIDTH), "mm_embedding")
    return graph.data()
