"""Tests of the return of freed memory to the system."""

import subprocess
import sys
from typing import Final

import pytest

from cordwood.broker.process.freed_memory import (
    CHECKS_PER_COLLECTION,
    GROWTH_BYTES,
    QUIET_S,
    FreedMemory,
    ProcessMemory,
    system_memory,
)
from cordwood.testing.inline_worker import InlineWorker

START: Final = 40 << 20
#: The bytes of which malloc knows that they are in use, with 100 MiB of buffers and without them.
USED: Final = """
from cordwood.broker.process.freed_memory import system_memory
memory = system_memory()
assert memory is not None
before = memory.used_bytes()
buffer = bytearray(100 << 20)
grown = memory.used_bytes()
del buffer
print(grown - before, memory.used_bytes() - before)
"""
#: A process that has freed every second of many buffers: malloc cannot return them by itself.
FRAGMENTED: Final = """
from cordwood.broker.process.freed_memory import system_memory
from cordwood.broker.process.process_tuning import keep_freed_memory
assert keep_freed_memory()
memory = system_memory()
assert memory is not None
buffers = [bytearray(b"x" * (1 << 20)) for _ in range(100)]
del buffers[::2]
before = memory.resident_bytes()
memory.trim()
print(before - memory.resident_bytes())
"""


class Process:
    """A process whose measurements a test sets; `freed` is what a collection frees."""

    def __init__(self) -> None:
        self.resident, self.used, self.used_s = START, 0, 0.0
        self.trims = self.collections = self.full_collections = self.freed = 0

    def memory(self) -> ProcessMemory:
        return ProcessMemory(
            resident_bytes=lambda: self.resident,
            used_bytes=lambda: self.used,
            processor_s=lambda: self.used_s,
            trim=self._trim,
            collect_recent=self._collect,
            collect_all=self._collect_all,
        )

    def _trim(self) -> None:
        self.trims += 1

    def _collect_all(self) -> None:
        self.full_collections += 1

    def _collect(self) -> None:
        self.collections += 1
        self.used -= self.freed


def test_quiet_broker_that_has_grown_is_trimmed_once() -> None:
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())
    process.resident += GROWTH_BYTES + 1

    freed.check()
    freed.check()

    assert (process.collections, process.trims) == (1, 1)


def test_broker_that_grows_again_is_trimmed_again() -> None:
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())

    for resident in (START + 2 * GROWTH_BYTES, START, START + 2 * GROWTH_BYTES):
        process.resident = resident
        freed.check()

    assert process.trims == 2


def test_garbage_is_trimmed_after_its_collection() -> None:
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())
    process.resident += 2 * GROWTH_BYTES
    process.used = process.freed = 2 * GROWTH_BYTES

    freed.check()

    assert (process.collections, process.trims) == (1, 1)


def test_memory_of_unread_responses_is_returned_after_their_end() -> None:
    """A trim among 64 MiB of responses made them the measure for the time after them."""
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())
    trims = list[int]()
    process.resident += 4 * GROWTH_BYTES

    for used in (2 * GROWTH_BYTES, 2 * GROWTH_BYTES, 0):
        process.used = used
        freed.check()
        trims.append(process.trims)
        process.resident = START + 2 * GROWTH_BYTES  # a trim leaves what is in use

    assert trims == [1, 1, 2]


@pytest.mark.parametrize(("growth", "used_s"), ((GROWTH_BYTES, 0.0), (2 * GROWTH_BYTES, QUIET_S)))
def test_broker_that_works_or_has_hardly_grown_keeps_its_memory(growth: int, used_s: float) -> None:
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())
    process.resident += growth
    process.used_s += used_s

    freed.check()

    assert process.trims == 0


def test_broker_collects_all_garbage_in_the_first_quiet_moment_of_each_day() -> None:
    process = Process()
    freed = FreedMemory(InlineWorker(), process.memory())
    counts = list[int]()

    for _ in range(CHECKS_PER_COLLECTION):
        process.used_s += QUIET_S
        freed.check()
    counts.append(process.full_collections)
    for _ in range(CHECKS_PER_COLLECTION + 1):
        freed.check()
        counts.append(process.full_collections)

    assert (counts[:3], counts[-2:]) == ([0, 1, 1], [1, 2])


@pytest.mark.skipif(system_memory() is None, reason="needs glibc")
def test_trim_returns_the_free_ranges_between_used_buffers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, check=True
    )

    assert int(done.stdout) > 30 << 20


@pytest.mark.skipif(system_memory() is None, reason="needs glibc")
def test_used_bytes_are_those_that_malloc_has_in_use() -> None:
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, check=True)

    grown, left = map(int, done.stdout.split())

    assert (grown > 99 << 20, left < 1 << 20) == (True, True)
