"""Likely causes from logs as they really look: whole ends of logs, not only their telling line.

Sources: output of the engine library 0.18.1 on Linux (no Vulkan; small address space; a file
system without room), its own texts (AVX), public reports of Windows drivers, and CPython's.
"""

from __future__ import annotations

import pytest

from app import crash_report
from engine import engine_log
from ui import strings_report

START = """\
WARNING: Logging before InitGoogle() is written to STDERR
W0000 00:00:1795991917.538808   11120 litert_lm_loader.cc:514] TFLite model type: \
tf_lite_vision_encoder not found for backend constraints. Skipping.
INFO: [environment.cc:36] Creating LiteRT environment with options
WARNING: [npu_registry.cc:34] NPU accelerator could not be loaded and registered: \
kLiteRtStatusErrorNotFound.
INFO: [accelerator_registry.cc:54] RegisterAccelerator: ptr=0x564c9a6a2630, name=GPU WebGPU
INFO: [cpu_registry.cc:75] XNNPACK CPU accelerator registered.
W0000 00:00:1795991917.538487   11125 litert_lm_loader.cc:391] Section not found: SP_Tokenizer
W0000 00:00:1795991917.539000   11130 litert_lm_loader.cc:479] TFLite model for type: \
tf_lite_per_layer_embedder not found. Skipping.
INFO: [compiled_model.cc:829] Flatbuffer model initialized directly from incoming litert model.
"""
"""What every load writes; nothing of it is a cause."""

NO_ADAPTER = """\
INFO: [delegate_webgpu.cc:342] Create WebGPU environment (use_low_power=0)
Warning: Couldn't load Vulkan: libvulkan.so.1: cannot open shared object file: No such file \
or directory
    at operator() (third_party/dawn/src/dawn/native/vulkan/BackendVk.cpp:368)

ERROR: [delegate_webgpu.cc:359] Failed to initialize WebGPU environment: INTERNAL: No adapters found
E0000 00:00:1795991917.560261   11120 engine.cc:854] Failed to create engine: UNKNOWN: ERROR: \
[third_party/odml/litert_lm/runtime/executor/llm_litert_compiled_model_executor_factory.cc:236]
"""
CACHE_DENIED = """\
E0000 00:00:1795991917.1 4711 memory_mapped_file_win.cc:98] Could not map file \
C:\\Users\\ann\\AppData\\Local\\tandem\\cache\\gemma_mldrift_weight_cache.bin: Access is denied. (5)
E0000 00:00:1795991917.2 4711 engine.cc:854] Failed to create engine: INTERNAL
"""
SHARING = "PermissionError: [WinError 32] sharing violation: gemma.litertlm.xnnpack_cache\n"
RUST_MEMORY = "memory allocation of 128 bytes failed\n"
MAP_MEMORY = """\
E0000 00:00:1795991956.536897   12040 memory_mapped_file_posix.cc:134] INTERNAL: RET_CHECK \
failure (third_party/odml/litert_lm/support/util/memory_mapped_file_posix.cc:134) data != \
((void *) -1) (0xffffffffffffffff vs. 0xffffffffffffffff) Failed to map, error: Cannot allocate \
memory
=== Source Location Trace: ===
"""
CPP_MEMORY = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::x\n"
GPU_MEMORY = """\
INFO: [delegate_webgpu.cc:201] Selected adapter: NVIDIA GeForce GTX 1050, arch=pascal, \
vendor=nvidia, backend=Vulkan, adapterType=Discrete GPU
Warning: vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY
"""
LIBRARY_MEMORY = """\
cannot load library '/opt/tandem/litert_lm/liblitert-lm.so': /opt/tandem/litert_lm/\
liblitert-lm.so: failed to map segment from shared object
"""
NO_AVX = """\
FATAL ERROR: This binary was compiled with avx enabled, but this feature is not available on \
this processor (go/sigill-fail-fast).
"""
DISK_FULL = """\
INFO: Created TensorFlow Lite XNNPACK delegate for CPU.
ERROR: XNNPack weight cache: cannot append buffer to cache file
ERROR: third_party/tensorflow/lite/delegates/xnnpack/weight_cache.cc:750: Inserting data in the \
cache failed.
"""
PYTHON_DISK = "OSError: [Errno 28] No space left on device: '/home/ann/.cache/tandem'\n"
WINDOWS_DISK = "E0000 weight_cache.cc:312] WriteFile: There is not enough space on the disk.\n"
DRIVER = """\
INFO: [delegate_webgpu.cc:201] Selected adapter: AMD Radeon RX 6600, arch=rdna-2, vendor=amd, \
backend=D3D12, adapterType=Discrete GPU
Warning: DXGI_ERROR_DEVICE_REMOVED
"""
OPERATIONS = """\
ERROR: Following operations are not supported by GPU delegate:
GATHER_ND: Operation is not supported.
"""

ABORT, SEGV, KILL, BUS = ("signal 6 (abort)", "signal 11 (segmentation fault)",
                          "signal 9 (killed)", "signal 7 (bus error)")  # fmt: skip


@pytest.mark.parametrize(
    ("exit_words", "log", "likely"),
    [
        ("", NO_ADAPTER, "gpu_adapter"),
        (SEGV, NO_ADAPTER, "gpu_adapter"),
        ("", CACHE_DENIED, "cache"),
        ("exit code 0xC0000005 (access violation)", CACHE_DENIED, "cache"),
        ("", SHARING, "cache"),
        (ABORT, RUST_MEMORY, "memory"),
        (ABORT, MAP_MEMORY + RUST_MEMORY, "memory"),
        (ABORT, CPP_MEMORY, "memory"),
        (SEGV, GPU_MEMORY, "memory"),
        ("", LIBRARY_MEMORY, "memory"),
        ("exit code 0xC000012D (out of memory)", "", "memory"),
        (ABORT, NO_AVX, "processor"),
        ("signal 4 (illegal instruction)", "", "processor"),
        ("exit code 0xC000001D (illegal instruction)", "", "processor"),
        (ABORT, DISK_FULL, "disk_full"),
        ("", PYTHON_DISK, "disk_full"),
        ("exit code 0xC0000409 (stack buffer overrun)", WINDOWS_DISK, "disk_full"),
        ("exit code 0xC0000005 (access violation)", DRIVER, "gpu_driver"),
        (ABORT, OPERATIONS, "gpu_operations"),
        (KILL, "", "killed"),
        (BUS, "", "damaged"),
        (ABORT, "", "damaged"),
        ("exit code 0x40000015 (abort)", "", "damaged"),
        ("exit code 70 (a fault in the engine process)", "", ""),
        ("", "", ""),
    ],
)
def test_causes_in_whole_logs(exit_words: str, log: str, likely: str) -> None:
    assert crash_report.cause(exit_words, engine_log.tail(START + log)) == likely
    assert not likely or strings_report.CAUSES[likely].endswith(".")


def test_every_cause_has_words() -> None:
    assert {name for name, _ in crash_report._CAUSES} == set(strings_report.CAUSES)


@pytest.mark.parametrize(
    ("trace", "likely"),
    [
        ("Fatal Python error: Illegal instruction\n\nThread 0x1 (most recent call first):\n", ""),
        ("Windows fatal exception: code 0xc000001d\n", ""),
        ("Fatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call "
         "first):\n  File \"/x/PySide6/QtGui.py\", line 1 in render\n  vkQueueSubmit\n",
         "gpu_driver"),
        ("MemoryError\nFatal Python error: Aborted\n", "memory"),
    ],
)  # fmt: skip
def test_causes_in_traces_of_the_program(trace: str, likely: str) -> None:
    """Illegal instructions of the window's process are no word about the engine."""
    assert crash_report.cause(trace) == likely
