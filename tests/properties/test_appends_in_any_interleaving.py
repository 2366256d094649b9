"""Appends of one partition while its worker's calls and the loop's callbacks come in any order.

The worker runs one of its oldest calls at a step, so that rolls, flushes, preparations, retention
and saves of epochs overlap as on threads. Calls that a disk rejects, for want of space or of
descriptors, come in between. At the end every append has an outcome, the acknowledged ones are in
the log in the order of their appends, and a restart reads the same records.
"""

import errno
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

import pytest

from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.partition_leader import AppendRequest, PartitionAppendResult
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Lane, OpenFile, Pending
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import NEVER, LogConfig
from cordwood.storage.manager.log_changes import apply_retention, roll
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.storage.log_samples import NOW
from tests.unit.storage.manager_samples import partition

T = TypeVar("T")

_STEPS = 200
_FAULTY = ("create", "append", "pwrite", "rename", "truncate", "open", "remove")
#: The calls that may overtake each other.
_AT_A_TIME = 4


class ShuffledWorker:
    """A worker that runs one of its oldest calls in each `step`."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._calls = list[Callable[[], None]]()

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        assert lane in Lane
        pending: Future[T] = Future()

        def run() -> None:
            try:
                result = call()
            except Exception as error:  # noqa: BLE001 - the future gets it
                pending.set_exception(error)
            else:
                pending.set_result(result)

        self._calls.append(run)
        return pending

    def sync(self, file: OpenFile) -> Future[None]:
        return self.submit(file.sync, lane=Lane.FLUSH)

    def step(self) -> bool:
        """Run a call; return whether there was one."""
        if not self._calls:
            return False
        self._calls.pop(self._random.randrange(min(_AT_A_TIME, len(self._calls))))()
        return True

    def close(self) -> None:
        while self.step():
            pass


@dataclass(frozen=True, slots=True)
class _Append:
    values: tuple[bytes, ...]
    pending: Pending[PartitionAppendResult]
    is_valid: bool


class Scene:
    """One partition, with appends and changes that are drawn."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.worker = ShuffledWorker(random)
        config = LogConfig(
            segment_bytes=random.choice((2000, 6000)),
            segment_index_bytes=1200,
            index_interval_bytes=0,
            retention_bytes=random.choice((-1, 8000)),
            flush_messages=random.choice((1, 3, NEVER)),
            compression_type=random.choice(("producer", "lz4")),
        )
        self.harness = BrokerHarness(config, worker=self.worker)
        self.manager = self.harness.manager
        self._soon = list[Callable[[], object]]()
        self.manager.options = replace(self.manager.options, call_soon=self._soon.append)
        self.orders = self.harness.host()
        self.appends = list[_Append]()
        self._values = self._epoch = 0

    @property
    def log(self) -> Log | None:
        """The log, unless a fault has taken its directory offline."""
        return self.manager.logs.get(partition())

    def step(self) -> None:
        """Make one change, or let the worker or the loop go on."""
        changes = (
            *(self._retain, self._delete, self._flush, self._roll, self._lead, self._lead),
            self._fault,
        )
        drawn = self.random.random()
        if drawn < 0.25:
            self._append()
        elif drawn < 0.6:
            self.worker.step()
        elif drawn < 0.8:
            self._turn()
        else:
            with suppress(KafkaError):
                self.random.choice(changes)()

    def finish(self) -> None:
        """End all faults, and let everything run to its end; failed flushes are tried again."""
        self.harness.storage.files.script.reset()
        for _ in range(3):
            while self.worker.step() or self._soon:
                self._turn()
            self.harness.time.advance(seconds=2)

    def _turn(self) -> None:
        soon, self._soon[:] = [*self._soon], []
        for call in soon:
            call()

    def _append(self) -> None:
        is_large, is_valid = self.random.random() < 0.3, self.random.random() < 0.95
        count = self.random.randint(101, 140) if is_large else self.random.randint(1, 4)
        values = tuple(b"%d" % (self._values + each) for each in range(count))
        self._values += count
        builder = BatchBuilder(BatchFields())
        for value in values:
            builder.append(b"key", value, timestamp=NOW)
        data = builder.build()
        data[-1] ^= not is_valid
        request = AppendRequest(self.random.choice((1, -1)))
        with suppress(KafkaError):
            pending = self.orders.append(memoryview(data), request)
            self.appends.append(_Append(values, pending, is_valid))

    def _retain(self) -> None:
        if self.log is not None:
            apply_retention(self.manager, self.log)

    def _delete(self) -> None:
        bounds = self.orders.log.bounds
        self.orders.delete_records(self.random.randint(bounds.log_start, bounds.high_watermark))

    def _flush(self) -> None:
        self.harness.flusher.flush(self.orders.log)

    def _roll(self) -> None:
        roll(self.manager, self.orders.log)

    def _lead(self) -> None:
        self._epoch += 1
        self.orders.apply(PartitionImage((1,), (1,), 1, self._epoch))

    def _fault(self) -> None:
        self.harness.storage.files.script.reset()
        if self.random.random() < 0.5:
            code = self.random.choice((errno.ENOSPC, errno.EMFILE))
            on = self.random.choice(_FAULTY)
            fault = FileFault(
                on=on, path="*/orders-0/*", code=code, first=self.random.randint(1, 3)
            )
            self.harness.storage.files.script.add(fault)


def contents(log: Log) -> dict[int, bytes]:
    """Return the values of a log by offset, from its log start on."""
    found = dict[int, bytes]()
    at, end = int(log.bounds.log_start), log.bounds.log_end
    while at < end:
        read = log.read(at, max_bytes=1 << 20, isolation=FetchIsolation.LOG_END, min_one=True)
        assert read.slice is not None
        for batch in batches(read.slice.read()):
            found |= {each.offset: bytes(each.value or b"") for each in batch.records()}
            at = batch.last_offset + 1
        read.slice.release()
    return {offset: value for offset, value in found.items() if offset >= log.bounds.log_start}


@pytest.mark.parametrize("seed", range(24))
def test_acknowledged_appends_are_in_the_log_in_their_order(seed: int) -> None:
    scene = Scene(seed)
    for _ in range(_STEPS):
        scene.step()
    scene.finish()

    assert all(each.pending.done() for each in scene.appends)
    if scene.log is None:
        return
    kept, last = contents(scene.log), -1
    for append in scene.appends:
        if append.pending.exception() is None:
            first = append.pending.result().result.first_offset
            assert append.is_valid
            assert first > last
            assert [kept.get(first + at, value) for at, value in enumerate(append.values)] == [
                *append.values
            ]
            last = first
    assert scene.log.bounds.high_watermark == scene.log.bounds.log_end == last_end(scene, kept)
    scene.harness.storage.files.end_process()
    again = contents(scene.harness.storage.load().logs[partition()])
    assert {offset: again[offset] for offset in kept} == kept


def last_end(scene: Scene, kept: dict[int, bytes]) -> int:
    """Return the offset after the last record, the log start without records."""
    assert scene.log is not None
    return max(kept, default=scene.log.bounds.log_start - 1) + 1
