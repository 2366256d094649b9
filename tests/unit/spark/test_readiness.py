"""Tasks wait for kernels, or say why they do without them."""

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
from cordwood.spark import readiness

#: Buffers that the C library keeps when they are free, for one that is not lies behind them.
FREED: Final = """
from pathlib import Path
from cordwood.spark.readiness import give_back_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

buffers = [bytearray(64 << 10) for _ in range(1000)]
last = bytearray(64 << 10)
buffers.clear()
before = resident()
assert give_back_memory()
print(before - resident())
"""

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    readiness.load_once.cache_clear()
    yield
    readiness.load_once.cache_clear()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing is compiled; the list has as many numbers as it is compiled."""
    calls: list[int] = []

    def warm(say: Callable[[str], object]) -> None:
        calls.append(1)
        say("compiling")

    monkeypatch.setattr(kernels, "is_warm", lambda: False)
    monkeypatch.setattr(kernels, "warm", warm)
    return calls


def test_kernels_are_compiled_once_when_they_are_cold(cold: list[int], capsys: Said) -> None:
    readiness.make_ready()
    readiness.make_ready()

    assert cold == [1]
    assert capsys.readouterr().err == "compiling\n"


def test_memory_of_arrow_is_the_systems(cold: list[int]) -> None:
    pool = pa.default_memory_pool()
    try:
        readiness.make_ready()

        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(pool)


def test_nothing_is_compiled_when_kernels_are_warm(
    cold: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "is_warm", lambda: True)

    readiness.make_ready()

    assert not cold


def test_task_says_so_when_kernels_cannot_be_compiled(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    def warm(_: object) -> None:
        raise KafkaStorageError("no room")

    monkeypatch.setattr(kernels, "warm", warm)

    readiness.make_ready()

    assert "no room" in capsys.readouterr().err


def test_task_says_so_when_the_package_is_in_a_zip(
    cold: list[int], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(readiness, "packages", list)

    readiness.make_ready()

    assert "--archives" in capsys.readouterr().err
    assert not cold


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_memory_that_was_freed_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True)

    assert int(done.stdout) > 50 << 20


def test_library_that_cannot_be_asked_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not readiness.give_back_memory()
