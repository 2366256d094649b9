"""Warm-up of workers: tasks wait for kernels, or log why they run without them."""

import ctypes
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.spark.runtime import worker_warmup

#: Frees buffers that the C library keeps, because a buffer in use follows them.
FREED: Final = """
from pathlib import Path
from cordwood.spark.runtime.worker_warmup import trim_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

buffers = [bytearray(64 << 10) for _ in range(1000)]
last = bytearray(64 << 10)
buffers.clear()
before = resident()
assert trim_memory()
print(before - resident())
"""

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _clear_cache() -> Iterator[None]:
    worker_warmup.load_once.cache_clear()
    yield
    worker_warmup.load_once.cache_clear()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make kernels cold; the list grows with each compilation."""
    calls: list[int] = []

    def warm(say: Callable[[str], object]) -> None:
        calls.append(1)
        say("compiling")

    monkeypatch.setattr(kernels, "is_warm", lambda: False)
    monkeypatch.setattr(kernels, "warm", warm)
    return calls


def test_kernels_are_compiled_once_when_they_are_cold(cold: list[int], capsys: Said) -> None:
    worker_warmup.prepare_worker()
    worker_warmup.prepare_worker()

    assert cold == [1]
    assert capsys.readouterr().err == "compiling\n"


def test_memory_of_arrow_is_the_systems(cold: list[int]) -> None:
    pool = pa.default_memory_pool()
    try:
        worker_warmup.prepare_worker()

        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(pool)


def test_no_kernel_is_compiled_when_kernels_are_warm(
    cold: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "is_warm", lambda: True)

    worker_warmup.prepare_worker()

    assert not cold


def test_task_reports_kernels_that_cannot_be_compiled(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def warm(_: object) -> None:
        raise KafkaStorageError("no room")

    monkeypatch.setattr(kernels, "warm", warm)

    worker_warmup.prepare_worker()

    assert "no room" in capsys.readouterr().err


def test_task_reports_a_package_in_a_zip(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(worker_warmup, "packages", list)

    worker_warmup.prepare_worker()

    assert "--archives" in capsys.readouterr().err
    assert not cold


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has malloc_trim")
def test_freed_memory_is_returned_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True)

    assert int(done.stdout) > 50 << 20


def test_library_without_malloc_trim_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not worker_warmup.trim_memory()
