"""Preparation of workers: modules that every task needs are loaded once."""

import ctypes
import gc
import platform
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pytest

from cordwood.core.errors import KernelLibraryError
from cordwood.records import kernels
from cordwood.spark.runtime import worker_preparation

#: Frees buffers that the C library keeps, because a buffer in use follows them.
FREED: Final = """
from pathlib import Path
from cordwood.spark.runtime.worker_preparation import trim_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

buffers = [bytearray(64 << 10) for _ in range(1000)]
last = bytearray(64 << 10)
buffers.clear()
before = resident()
assert trim_memory()
print(before - resident())
"""


@pytest.fixture(autouse=True)
def _clear_cache() -> Iterator[None]:
    worker_preparation.load_once.cache_clear()
    yield
    worker_preparation.load_once.cache_clear()


def test_unusable_library_is_left_to_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject() -> None:
        raise KernelLibraryError("cut", path="/k.so", remedy="copy")

    monkeypatch.setattr(kernels, "decoder", reject)
    frozen = gc.get_freeze_count()

    worker_preparation.load_once()

    assert gc.get_freeze_count() > frozen


def test_decoder_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    monkeypatch.setattr(kernels, "decoder", lambda: loaded.append(1))

    worker_preparation.prepare_worker()
    worker_preparation.prepare_worker()

    assert loaded == [1]


def test_memory_of_arrow_is_the_systems() -> None:
    pool = pa.default_memory_pool()
    try:
        worker_preparation.prepare_worker()

        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(pool)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has malloc_trim")
def test_freed_memory_is_returned_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True)

    assert int(done.stdout) > 50 << 20


def test_library_without_malloc_trim_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not worker_preparation.trim_memory()
