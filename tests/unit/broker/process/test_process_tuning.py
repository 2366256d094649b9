"""Tests of malloc and garbage collector tuning."""

import ctypes
import gc
import platform
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Final

import pytest

from cordwood.broker.process.process_tuning import (
    MIDDLE_COLLECTIONS,
    SWITCH_INTERVAL_S,
    OldObjects,
    collect_all,
    collect_recent,
    exempt_from_gc,
    keep_freed_memory,
    replace_full_collections,
    shorten_switches,
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

#: A thread frees many small buffers that the main thread has allocated, and the other way round.
TRIMMED: Final = """
import threading
from cordwood.broker.process.freed_memory import system_memory
from cordwood.broker.process.process_tuning import keep_freed_memory
assert keep_freed_memory()
memory = system_memory()
assert memory is not None
before = memory.resident_bytes()
def allocate():
    buffers.extend(bytearray(b"x" * 10_000) for _ in range(5_000))
buffers = []
thread = threading.Thread(target=allocate)
thread.start()
thread.join()
buffers.clear()
memory.trim()
print(memory.resident_bytes() - before)
"""


class Cycle:
    """An object that only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


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


def test_full_collections_are_replaced_and_the_others_are_not() -> None:
    before, calls = gc.get_threshold(), [*gc.callbacks]

    replace_full_collections()

    after, added = gc.get_threshold(), gc.callbacks[len(calls) :]
    gc.set_threshold(*before)
    gc.callbacks[:] = calls
    assert after[:2] == before[:2]
    assert after[2] >= 1_000_000_000
    assert [type(each) for each in added] == [OldObjects]


def test_survivors_of_many_middle_collections_are_exempt() -> None:
    old, counts = OldObjects(), list[int]()

    for generation in (0, 2, *[1] * MIDDLE_COLLECTIONS):
        counts.append(gc.get_freeze_count())
        old("start", {"generation": generation})
        old("stop", {"generation": generation})

    assert len({*counts}) == 1
    assert gc.get_freeze_count() > counts[0]


def test_full_collection_frees_cycles_of_exempt_objects() -> None:
    cycle = Cycle()
    gone = weakref.ref(cycle)
    gc.freeze()
    del cycle

    gc.collect()
    before = gone()
    del before
    collect_all()

    assert gone() is None


def test_collection_of_recent_objects_leaves_exempt_ones_and_exempts_the_rest() -> None:
    old = Cycle()
    is_old_there = weakref.ref(old)
    gc.freeze()
    del old
    new = Cycle()
    is_new_there = weakref.ref(new)
    del new

    collect_recent()

    assert (is_old_there() is None, is_new_there() is None) == (False, True)
    collect_all()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_large_buffers_are_not_mapped_again_each_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True
    )

    assert int(done.stdout) < 100 * 256


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_of_another_thread_is_returned_by_a_trim() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRIMMED], check=True, capture_output=True, text=True
    )

    assert int(done.stdout) < 10 << 20


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
