"""Words of the problem report. No Qt."""

from __future__ import annotations

TITLE = "Problem report"
TEXT = (
    "This writes one file that you can look at and pass on. Nothing is sent. It holds versions, "
    "the machine, the last lines of the logs and settings; no prompts, answers or tokens."
)
LIKELY = "Likely cause: {cause}"
INCLUDE = "Include the open conversations"
INCLUDE_MORE = "With all their text. Without it the file holds nothing you wrote."
PREVIEW = "What the file holds"
PART = "Part of the report"
SAVE = "Save…"
SAVE_REPORT = "Save report…"
SAVED = "The problem report was saved as {name}."
NOT_SAVED = "The problem report could not be saved: {reason}."
FILES = "Zip files (*.zip)"
FILE_NAME = "tandem-report-{date}.zip"

CRASHED_TITLE = "Tandem ended unexpectedly last time"
CRASHED_TEXT = (
    "Your conversations were kept. You can save a report about what happened; nothing is sent."
)

CAUSES = {
    "gpu_adapter": "the GPU driver is missing or offers no usable GPU. Use the CPU.",
    "gpu_operations": "the model uses operations the GPU backend lacks. Use the CPU, or turn "
    "speculation off.",
    "cache": "the engine's cache file could not be opened. Clear the cache, or load without it.",
    "memory": "not enough memory. Use a smaller context or model, or close other programs.",
    "disk_full": "the disk is full. Free some space, or load the model without a cache.",
    "processor": "this processor lacks instructions that the engine needs, such as AVX. Models "
    "cannot run on this computer.",
    "killed": "something outside Tandem ended it, such as the system when memory runs short.",
    "drafter": "the model has no drafter, so speculation cannot be on.",
    "gpu_driver": "the GPU driver. Use the CPU, or update the driver.",
    "damaged": "a damaged model file or a fault of the engine. Download the model again.",
}

BACKENDS_ALIKE = "The GPU answers as the CPU does."
BACKENDS_DIFFER = (
    "The GPU and the CPU answered differently; see the details. If the GPU's answer makes no "
    "sense, use the CPU or 32-bit precision on the GPU."
)
