"""Partition of a simulation: batches in memory, with the producer state and the bounds of a log.

    append ──► analyzed ──► written ──► counts, at once or later ──► survives a crash
                 └─ rejected                └─ fails later, with all appends after it

A crash keeps what counts, and any number of the batches after it. The state of the producers is
then rebuilt, as a start does it.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from cordwood.core.errors import KafkaError, KafkaStorageError, NotEnoughReplicasError
from cordwood.core.ports import Pending
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.producers.ongoing_transactions import CompletedTxn
from cordwood.storage.producers.producer_append_info import DuplicateBatch
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from tests.simulation.world import World

_REJECTED: Final = 0.01
_FAILS_LATER: Final = 0.006
_COUNTS_AT_ONCE: Final = 0.5
_LONGEST_WAIT_MS: Final = 60.0


class SimulatedAppend:
    """The base offset of an append, once it counts (a `Pending`)."""

    __slots__ = ("_calls", "_error", "_is_done", "base_offset", "end_offset")

    def __init__(self, base_offset: int, end_offset: int) -> None:
        self.base_offset = base_offset
        self.end_offset = end_offset
        self._is_done = False
        self._error: KafkaError | None = None
        self._calls = list[Callable[[Pending[int]], object]]()

    def done(self) -> bool:
        return self._is_done

    def result(self) -> int:
        assert self._is_done, "nothing waits for an append"
        if self._error is not None:
            raise self._error
        return self.base_offset

    def exception(self) -> BaseException | None:
        assert self._is_done, "nothing waits for an append"
        return self._error

    def add_done_callback(self, call: Callable[[Pending[int]], object], /) -> None:
        if self._is_done:
            call(self)
        else:
            self._calls.append(call)

    def finish(self, error: KafkaError | None = None) -> None:
        """Let the append count, or fail."""
        self._is_done, self._error = True, error
        for call in self._calls:
            call(self)


class StoredBatch(NamedTuple):
    """A batch with its bytes."""

    header: BatchHeader
    data: bytes

    @property
    def values(self) -> list[tuple[int, str]]:
        """The records as offset and text, none of a marker."""
        if self.header.is_control:
            return []
        records = RecordBatch(self.data).records()
        return [(each.offset, bytes(each.value or b"").decode()) for each in records]


class SimulatedLog:
    """One partition; it survives the crashes of its broker."""

    def __init__(self, name: str, world: World) -> None:
        self.name: Final = name
        self.batches = list[StoredBatch]()
        self.bounds = OffsetBounds(log_start=0, log_end=0)
        self.producers = ProducerStateManager()
        self.aborted = list[CompletedTxn]()
        self._world = world
        self._waiting = deque[SimulatedAppend]()
        self._is_counting = False

    def append(
        self, data: bytearray, context: AppendContext, *, may_fail: bool = True
    ) -> SimulatedAppend:
        """Append a batch; raise the KafkaError of one that is not written."""
        world = self._world
        if may_fail and world.draws(_REJECTED):
            world.count("appends rejected")
            world.note("{}: an append is rejected", self.name)
            raise NotEnoughReplicasError("too few replicas")
        end = int(self.bounds.log_end)
        data[:8] = end.to_bytes(8, "big")
        header = read_header(data)
        assert header is not None, "a whole batch"
        changes = self.producers.analyze(
            [ProducedBatch.of(header, data)],
            context.origin,
            guard=context.guard,
            is_strict_on_markers=context.is_strict_on_markers,
        )
        if isinstance(changes, DuplicateBatch):
            world.count("duplicate batches")
            return self._begin(SimulatedAppend(changes.first_offset, changes.last_offset + 1))
        self.batches.append(StoredBatch(header, bytes(data)))
        self.bounds.advance_log_end(header.next_offset)
        self.producers.apply(changes)
        for completed in changes.completed:
            if completed.is_aborted:
                self.aborted.append(completed)
            self.producers.complete(completed)
        self.producers.advance(header.next_offset)
        self._update_first_unstable()
        append = SimulatedAppend(end, header.next_offset)
        if may_fail and world.draws(_FAILS_LATER):
            self._waiting.append(append)
            world.after(world.random.uniform(1, _LONGEST_WAIT_MS), self._fail)
            return append
        return self._begin(append)

    def crash(self) -> None:
        """Lose the volatile state, and any number of batches that do not count."""
        self._waiting = deque()
        self._is_counting = False
        self._truncate(self._world.random.randint(0, self._uncounted))
        self._rebuild()

    def committed_values(self, start: int = 0) -> list[tuple[int, int, str]]:
        """Return what a read_committed consumer sees from an offset on: offset, producer, text."""
        found, stable = list[tuple[int, int, str]](), self.bounds.last_stable
        first = bisect_left(self.batches, start, key=lambda each: each.header.base_offset)
        for batch in self.batches[first:]:
            header = batch.header
            if header.next_offset > stable:
                break
            if not header.is_control and not self._is_aborted(header):
                found += [(at, header.producer_id, text) for at, text in batch.values]
        return found

    def _is_aborted(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            each.producer_id == header.producer_id
            and each.first_offset <= header.base_offset <= each.last_offset
            for each in self.aborted
        )

    @property
    def _uncounted(self) -> int:
        counted = self.bounds.high_watermark
        return sum(each.header.base_offset >= counted for each in self.batches)

    # -- appends that count, or fail

    def _begin(self, append: SimulatedAppend) -> SimulatedAppend:
        world = self._world
        if not self._waiting and (not world.is_faulty or world.random.random() < _COUNTS_AT_ONCE):
            self._count_to(append.end_offset)
            append.finish()
            return append
        self._waiting.append(append)
        if not self._is_counting:
            self._is_counting = True
            waiting = self._waiting
            world.after(world.random.uniform(0, _LONGEST_WAIT_MS), lambda: self._count_all(waiting))
        return append

    def _count_all(self, waiting: deque[SimulatedAppend]) -> None:
        """Let all appends so far count, unless a crash has come in between."""
        if waiting is not self._waiting:
            return
        self._is_counting = False
        while self._waiting:
            append = self._waiting.popleft()
            self._count_to(append.end_offset)
            append.finish()

    def _count_to(self, offset: int) -> None:
        self.bounds.update_high_watermark(max(offset, self.bounds.high_watermark))
        self.producers.on_high_watermark(self.bounds.high_watermark)
        self._update_first_unstable()

    def _fail(self) -> None:
        """Fail all appends that do not count; they may be in the log all the same."""
        if not self._waiting:
            return
        failed, self._waiting = self._waiting, deque()
        self._is_counting = False
        self._world.count("appends failed late")
        is_kept = self._world.random.random() < 0.5
        self._world.note("{}: {} appends fail, kept: {}", self.name, len(failed), is_kept)
        if is_kept:
            self._count_to(int(self.bounds.log_end))
        else:
            self._truncate(self._uncounted)
            self._rebuild()
        for each in failed:
            each.finish(KafkaStorageError("the disk has failed"))

    def _truncate(self, batches: int) -> None:
        if batches:
            del self.batches[-batches:]

    def _rebuild(self) -> None:
        """Replay the log, as its load after a crash does."""
        end = self.batches[-1].header.next_offset if self.batches else 0
        self.bounds = OffsetBounds(log_start=0, log_end=end, high_watermark=end)
        self.producers = ProducerStateManager()
        self.aborted = []
        for batch in self.batches:
            completed = self.producers.replay(ProducedBatch.of(batch.header, batch.data))
            if completed is not None and completed[0].is_aborted:
                self.aborted.append(completed[0])
        self.producers.on_high_watermark(end)
        self._update_first_unstable()

    def _update_first_unstable(self) -> None:
        unstable = self.producers.first_unstable_offset
        self.bounds.first_unstable = (
            None if unstable is None else type(self.bounds.log_end)(unstable)
        )


#: The origin of a producer's batch.
CLIENT: Final = AppendContext(AppendOrigin.CLIENT)
