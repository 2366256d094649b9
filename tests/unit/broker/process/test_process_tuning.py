"""Tests of malloc and garbage collector tuning."""

import ctypes
import gc
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cordwood.broker.process.process_tuning import (
    MIDDLE_COLLECTIONS,
    SWITCH_INTERVAL_S,
    exempt_from_gc,
    keep_freed_memory,
    shorten_switches,
    space_out_full_collections,
)

# Frames of 1 MB, one after the other; a page is 4 KB, so each newly mapped frame faults 256 times.
FAULTS = """
import resource
from cordwood.broker.process.process_tuning import keep_freed_memory
assert keep_freed_memory()
bytearray(1 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    bytearray(1 << 20), bytearray(1 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_threads_switch_soon_after_a_request_for_the_lock() -> None:
    before = sys.getswitchinterval()

    shorten_switches()

    after = sys.getswitchinterval()
    sys.setswitchinterval(before)
    assert after == pytest.approx(SWITCH_INTERVAL_S)


def test_full_collections_are_rarer_and_the_others_are_not() -> None:
    before = gc.get_threshold()

    space_out_full_collections()

    after = gc.get_threshold()
    gc.set_threshold(*before)
    assert after == (*before[:2], MIDDLE_COLLECTIONS)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_buffers_are_not_mapped_again_each_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True
    )

    assert int(done.stdout) < 100 * 256


def test_other_c_libraries_are_not_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not keep_freed_memory()


def test_collector_is_disabled_inside_the_block() -> None:
    with exempt_from_gc():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_collector_does_not_visit_exempt_objects() -> None:
    with exempt_from_gc():
        exempt: list[object] = []
    later: list[object] = []

    visited = {id(each) for each in gc.get_objects()}

    assert id(exempt) not in visited
    assert id(later) in visited


def test_collector_is_enabled_again_after_an_error() -> None:
    with pytest.raises(OSError, match="no disk"), exempt_from_gc():
        raise OSError("no disk")

    assert gc.isenabled()
