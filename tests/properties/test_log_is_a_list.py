"""A log answers like a list of batches with bounds, after any sequence of calls.

The list is the model: appends add batches at its end; truncation, deletion and retention remove
them. A restart changes nothing, and a crash nothing flushed. After each step the log's batches, its
bounds, its lookups and its producer state are compared with it.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cordwood.core.errors import OutOfOrderSequenceNumberError
from cordwood.records.batch_builder import BatchFields
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from tests.unit.storage.log_samples import NOW, LogHarness, batch, bytes_of, headers_of, lead, read

CONFIG = LogConfig(
    segment_bytes=500, segment_index_bytes=240, index_interval_bytes=100, retention_ms=10_000
)


class Stored:
    """One batch of the model."""

    def __init__(self, base: int, count: int, timestamp: int) -> None:
        self.base = base
        self.count = count
        self.timestamp = timestamp

    @property
    def end(self) -> int:
        return self.base + self.count


class LogMachine(RuleBasedStateMachine):
    """Drives both."""

    def __init__(self) -> None:
        super().__init__()
        self.place = LogHarness()
        self.log: Log = self.place.open(CONFIG)
        self.batches: list[Stored] = []
        self.start = 0
        self.end = 0
        self.flushed = 0
        self.sequence = 0
        self.clock_ms = 0

    @initialize(gap=st.integers(0, 3))
    def begin(self, gap: int) -> None:
        """Some logs begin with something in them."""
        for _ in range(gap):
            self.append(2, 0)

    # -- more of it

    @rule(count=st.integers(1, 4), later_ms=st.integers(0, 50))
    def append(self, count: int, later_ms: int) -> None:
        self.clock_ms += later_ms
        result = lead(self.log, batch(count, timestamp=NOW + self.clock_ms))

        assert (result.first_offset, result.last_offset) == (self.end, self.end + count - 1)
        self._appended(count)

    @rule(count=st.integers(1, 3))
    def append_in_sequence(self, count: int) -> None:
        lead(self.log, self._produced(self.sequence, count))

        self.sequence += count
        self._appended(count)

    @precondition(lambda self: self.sequence > 0)
    @rule(skipped=st.integers(1, 5))
    def refuse_a_gap_in_the_sequence(self, skipped: int) -> None:
        if 7 not in self.log.producers.producers:
            return
        before = self.log.bounds.log_end

        try:
            lead(self.log, self._produced(self.sequence + skipped, 1))
        except OutOfOrderSequenceNumberError:
            assert self.log.bounds.log_end == before
        else:
            raise AssertionError("a gap in the sequence was let in")

    @rule()
    def roll(self) -> None:
        self.log.roll()

    # -- less of it

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        at = self._boundary(part)
        self.log.truncate_to(at)

        self.batches = [each for each in self.batches if each.base < at]
        self.end = min(self.end, at)
        self.start = min(self.start, self.end)
        self.flushed = min(self.flushed, self.end)
        self._forget_sequence()

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        at = self._boundary(part)
        self.log.set_high_watermark(self.end)
        self.log.delete_records(at)

        self.start = max(self.start, at)

    @rule()
    def let_retention_work(self) -> None:
        self.log.set_high_watermark(self.end)
        plan = self.log.delete_old_segments()

        self.start = max(self.start, plan.log_start_offset)

    @rule()
    def let_time_pass(self) -> None:
        self.place.clock.advance(seconds=11)

    # -- its directory

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.flushed = self.end

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.log = self._opened(is_clean=True)
        self.flushed = self.end

    @rule()
    def crash(self) -> None:
        """Drop unflushed data. Any part of it may survive, as Kafka's settings allow."""
        self.place.files.crash()
        self.log = self._opened(is_clean=False)

        self.start, self.end = self.log.bounds.log_start, self.log.bounds.log_end
        left = {base for base, _, _ in self._found()}
        flushed = {each.base for each in self.batches if self.start < each.end <= self.flushed}
        assert flushed <= left <= {each.base for each in self.batches}
        assert self.end >= self.flushed
        self.batches = [each for each in self.batches if each.base in left]
        self._forget_sequence()

    # -- what has to hold

    @invariant()
    def bounds_are_the_models(self) -> None:
        assert (self.log.bounds.log_start, self.log.bounds.log_end) == (self.start, self.end)

    @invariant()
    def batches_are_the_models(self) -> None:
        wanted = [each for each in self.batches if each.end > self.start]
        assert self._found() == [(each.base, each.end, each.timestamp) for each in wanted]

    @invariant()
    def times_lead_to_the_models_offsets(self) -> None:
        self.log.set_high_watermark(self.end)
        for each in self.batches[-3:]:
            found = self.log.offset_for_timestamp(each.timestamp)
            candidates = [
                max(one.base, self.start)
                for one in self.batches
                if one.timestamp >= each.timestamp and one.end > self.start
            ]
            assert (None if found is None else found.offset) == min(candidates, default=None)

    @invariant()
    def segments_follow_each_other(self) -> None:
        segments = self.log.segment_facts()
        bases = [segment.base_offset for segment in segments]
        assert bases == sorted(set(bases))
        assert segments[-1].next_base == self.end

    # -- inside

    def _found(self) -> list[tuple[int, int, int]]:
        """Return what the log has, read batch by batch."""
        found, offset = [], self.start
        while part := bytes_of(read(self.log, offset, 1, min_one=True)):
            header = headers_of(part)[0]
            found.append((header.base_offset, header.next_offset, header.max_timestamp))
            offset = header.next_offset
        return found

    def _opened(self, *, is_clean: bool) -> Log:
        return self.place.open(
            CONFIG, is_clean=is_clean, recovery_point=self.flushed, log_start=self.start
        )

    def _appended(self, count: int) -> None:
        self.batches.append(Stored(self.end, count, NOW + self.clock_ms))
        self.end += count

    def _produced(self, sequence: int, count: int) -> bytearray:
        fields = BatchFields(producer_id=7, producer_epoch=0, base_sequence=sequence)
        return batch(count, timestamp=NOW + self.clock_ms, fields=fields)

    def _boundary(self, part: float) -> int:
        """Return an offset between start and end at which a batch begins, or the end."""
        places = [each.base for each in self.batches if each.base >= self.start] + [self.end]
        return places[int(part * (len(places) - 1))]

    def _forget_sequence(self) -> None:
        """Continue at the log's producer state; from anywhere if it has none."""
        known = self.log.producers.producers.get(7)
        self.sequence = known.batches[-1].last_sequence + 1 if known and known.batches else 0


LogMachine.TestCase.settings = settings(stateful_step_count=30)
TestLogIsAList = LogMachine.TestCase
