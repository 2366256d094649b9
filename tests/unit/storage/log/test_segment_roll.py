"""A new segment begins at the log end, and the files of the old one are trimmed."""

import errno
from contextlib import suppress

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import InvalidTxnStateError
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.producers import snapshot_files
from cordwood.storage.segment.roll_policy import RollReason
from cordwood.testing.file_faults import FileFault, PowerLoss
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    SMALL,
    LogHarness,
    bases,
    batch,
    filled,
    follow,
    lead,
    offsets,
    opened,
    produced,
    read,
)

ONE = len(batch())
HOUR_MS = 3_600_000
PAIRS = LogConfig(segment_bytes=2 * ONE, segment_index_bytes=1200)
HOURLY = LogConfig(segment_ms=HOUR_MS)


# -- the steps of a roll


def test_roll_begins_at_the_end_of_the_log() -> None:
    log = filled(opened(), 3)

    log.roll()
    lead(log, batch())

    assert bases(log) == [0, 3]
    assert [segment.size for segment in log.segments] == [3 * ONE, ONE]


def test_roll_trims_the_old_indexes() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 3)
    before = [len(harness.bytes_of(f"{0:020}.{each}")) for each in ("index", "timeindex")]

    log.roll()

    after = [len(harness.bytes_of(f"{0:020}.{each}")) for each in ("index", "timeindex")]
    assert before == [1200, 1200]
    assert after == [2 * 8, 1 * 12]


def test_roll_writes_the_last_timestamp_that_has_no_entry() -> None:
    harness = LogHarness()
    log = harness.open(LogConfig())
    lead(log, batch(timestamp=NOW), batch(timestamp=NOW + 5))

    log.roll()

    assert harness.bytes_of(f"{0:020}.index") == b""
    assert harness.bytes_of(f"{0:020}.timeindex") == (NOW + 5).to_bytes(8) + (1).to_bytes(4)


def test_crash_before_the_snapshot_of_a_roll_is_saved_loses_no_producer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot_files, "SMALL", 0)
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0), produced(1))
    log.roll()
    lead(log, produced(2))
    before = log.producers.producers[1]

    log = harness.open(is_clean=False)

    assert log.producers.producers[1] == before
    assert lead(log, produced(2)).is_duplicate


def test_undone_roll_drops_the_snapshot_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_files, "SMALL", 0)
    log = opened(PAIRS)
    follow(log, produced(0, is_transactional=True), produced(1, at=1, is_transactional=True))

    with pytest.raises(InvalidTxnStateError):
        follow(log, produced(2, at=7))

    assert log.snapshot_files.offsets == ()
    assert not log.snapshot_files.has_unsaved


def test_roll_writes_a_producer_snapshot_at_the_new_base_offset() -> None:
    harness = LogHarness()
    log = harness.open()
    lead(log, produced(0))

    log.roll()

    assert harness.names(".snapshot") == ["1.snapshot"]


def test_roll_creates_no_index_files_for_the_empty_segment() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 1)

    log.roll()

    assert harness.names("index") == ["0.index", "0.timeindex"]
    assert harness.names(".log") == ["0.log", "1.log"]


def test_roll_of_an_empty_segment_creates_it_again() -> None:
    log = opened()

    log.roll()
    lead(log, batch())
    follow(log, batch(at=1))

    assert bases(log) == [0]
    assert log.bounds.log_end == 2


def test_roll_removes_files_that_an_earlier_life_left_under_the_new_name() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    for extension in ("log", "index", "timeindex", "txnindex"):
        harness.files.create(f"{DIRECTORY}/{2:020}.{extension}").append(bytes(120))

    log.roll()

    assert log.segments[-1].size == 0
    assert [name for name in harness.names() if name.startswith("2.")] == ["2.log", "2.snapshot"]


def test_names_of_a_roll_are_synced_with_the_next_flush() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 1)
    log.flush()

    log.roll()
    job = log.begin_flush()

    assert job is not None
    assert job.has_new_names


@pytest.mark.parametrize("call", ("create", "preallocate"))
def test_roll_without_space_creates_no_segment(call: str) -> None:
    harness = LogHarness()
    log = filled(harness.open(LogConfig(preallocate=True, segment_bytes=10 * ONE)), 1)
    harness.files.script.add(FileFault(on=call, path=f"*{1:020}.log", code=errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        log.roll()
    filled(log, 2)
    log.close()

    assert bases(log) == [0]
    assert harness.open().bounds.log_end == 3


def test_roll_is_torn_when_its_files_cannot_be_removed() -> None:
    harness = LogHarness()
    log = filled(harness.open(LogConfig(preallocate=True, segment_bytes=10 * ONE)), 1)
    harness.files.script.add(FileFault(on="preallocate", path="*.log", code=errno.ENOSPC))
    harness.files.script.add(FileFault(on="remove", path="*.log"))

    with pytest.raises(OSError, match="Input/output"):
        log.roll()

    assert log.is_torn


# -- behind a gap, for an append that is then rejected


def refused(harness: LogHarness, log: Log) -> None:
    """Append a follower's batch at 7 that rolls the log and is rejected."""
    harness.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC, kept=9))
    with pytest.raises(OSError, match="No space"):
        follow(log, produced(5, at=7))


def test_roll_with_a_gap_is_reverted_when_the_append_is_rejected() -> None:
    harness = LogHarness()
    log = harness.open(PAIRS)
    lead(log, produced(0), produced(1))

    refused(harness, log)

    assert bases(log) == [0]
    assert log.bounds.log_end == 2
    assert not log.is_torn
    assert harness.names(".log") == ["0.log"]
    assert harness.names(".snapshot") == []


def test_roll_with_a_gap_is_reverted_when_a_producer_is_rejected() -> None:
    log = opened(PAIRS)
    follow(log, produced(0, is_transactional=True), produced(1, at=1, is_transactional=True))

    with pytest.raises(InvalidTxnStateError):
        follow(log, produced(2, at=7))

    assert bases(log) == [0]
    assert log.bounds.log_end == 2


def test_roll_with_a_gap_and_without_space_leaves_no_snapshot() -> None:
    harness = LogHarness()
    log = harness.open(PAIRS)
    lead(log, produced(0), produced(1))
    harness.files.script.add(FileFault(on="create", path="*.log", code=errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        follow(log, produced(5, at=7))
    lead(log, produced(2), produced(3))

    assert bases(log) == [0, 2]
    assert harness.names(".snapshot") == ["2.snapshot"]


def test_log_continues_at_its_end_after_a_reverted_roll() -> None:
    harness = LogHarness()
    log = harness.open(PAIRS)
    lead(log, produced(0), produced(1))
    refused(harness, log)

    follow(log, produced(2, at=2), produced(3, at=3))
    follow(log, produced(5, at=7))

    assert bases(log) == [0, 2, 7]
    assert [offsets(read(log, at)) for at in (0, 2, 5)] == [
        [(0, 0), (1, 1)],
        [(2, 2), (3, 3)],
        [(7, 7)],
    ]


def test_log_end_is_unchanged_after_a_restart_following_a_reverted_roll() -> None:
    harness = LogHarness()
    log = harness.open(PAIRS)
    lead(log, produced(0), produced(1))
    refused(harness, log)
    log.close()

    again = harness.open(PAIRS)
    follow(again, produced(2, at=2))

    assert bases(again) == [0, 2]
    assert again.bounds.log_end == 3
    assert harness.names(".snapshot") == ["2.snapshot"]


def test_empty_segment_is_active_again_after_a_reverted_roll() -> None:
    harness = LogHarness()
    log = harness.open()
    harness.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        follow(log, batch(at=INT32_MAX + 1))
    follow(log, batch(at=0), batch(at=1))

    assert bases(log) == [0]
    assert len(harness.bytes_of(f"{0:020}.index")) == 1200


@pytest.mark.parametrize("keep", (0, 1))
def test_log_is_whole_after_a_crash_at_any_point_of_a_reverted_roll(keep: int) -> None:
    for writes in range(30):
        harness = LogHarness()
        log = harness.open(PAIRS)
        lead(log, produced(0), produced(1))
        log.flush()
        harness.files.script.stop_after(writes)
        with suppress(PowerLoss):
            refused(harness, log)
            follow(log, produced(2, at=2))
        harness.files.crash(range(keep * len(harness.files.pending())))

        again = harness.open(PAIRS, is_clean=False, recovery_point=2)
        follow(again, produced(9, at=again.bounds.log_end))

        assert offsets(read(again, 0)) == [(0, 0), (1, 1)]
        assert bases(again)[:1] == [0]


# -- when an append rolls


def test_exactly_as_large_as_a_segment_may_be_is_fine() -> None:
    log = filled(opened(LogConfig(segment_bytes=10 * ONE)), 10)
    before = bases(log)

    filled(log, 1)

    assert before == [0]
    assert bases(log) == [0, 10]


def test_empty_segment_does_not_roll_at_any_age() -> None:
    harness = LogHarness()
    log = harness.open(HOURLY)
    harness.clock.advance(hours=5)

    assert lead(log, batch(timestamp=-1)).rolled is None


def test_segment_without_times_rolls_by_the_clock() -> None:
    harness = LogHarness()
    log = harness.open(HOURLY)
    lead(log, batch(timestamp=-1))
    harness.clock.advance(ms=HOUR_MS)
    on_time = lead(log, batch(timestamp=-1))
    harness.clock.advance(ms=1)

    assert on_time.rolled is None
    assert lead(log, batch(timestamp=-1)).rolled is RollReason.TIME


def test_segment_with_times_rolls_by_them_and_not_by_the_clock() -> None:
    harness = LogHarness()
    log = harness.open(HOURLY)
    lead(log, batch(timestamp=NOW))
    harness.clock.advance(hours=5)

    same = lead(log, batch(timestamp=NOW + HOUR_MS))
    later = lead(log, batch(timestamp=NOW + HOUR_MS + 1))

    assert same.rolled is None
    assert later.rolled is RollReason.TIME


def test_set_without_records_never_rolls() -> None:
    harness = LogHarness()
    log = filled(harness.open(HOURLY), 1)
    harness.clock.advance(hours=5)

    assert lead(log, b"").rolled is None
    assert follow(log, b"").rolled is None
    assert bases(log) == [0]


def test_jitter_may_roll_a_segment_earlier() -> None:
    harness = LogHarness()
    log = harness.open(LogConfig(segment_ms=HOUR_MS, segment_jitter_ms=HOUR_MS // 2))
    jitter_ms = type(harness.random)(harness.random.seed).below(HOUR_MS // 2)
    lead(log, batch(timestamp=NOW))

    before = lead(log, batch(timestamp=NOW + HOUR_MS - jitter_ms))
    after = lead(log, batch(timestamp=NOW + HOUR_MS - jitter_ms + 1))

    assert before.rolled is None
    assert after.rolled is RollReason.TIME


def test_compacted_log_rolls_when_compaction_may_lag_no_longer() -> None:
    config = LogConfig(cleanup_policy=frozenset({COMPACT}), max_compaction_lag_ms=10)
    log = opened(config)
    lead(log, batch(timestamp=NOW))

    assert lead(log, batch(timestamp=NOW + 11)).rolled is RollReason.TIME


def test_full_index_begins_a_new_segment() -> None:
    log = opened(LogConfig(segment_index_bytes=24, index_interval_bytes=0))

    results = [lead(log, batch(timestamp=NOW + step)) for step in range(4)]

    assert [result.rolled for result in results] == [None, None, RollReason.INDEX_FULL, None]
    assert bases(log) == [0, 2]


def test_empty_segment_without_space_for_an_entry_is_recreated_by_the_next_append() -> None:
    harness = LogHarness()
    log = filled(harness.open(LogConfig(segment_index_bytes=0)), 1)
    log.configure(SMALL)

    assert lead(log, batch()).rolled is RollReason.INDEX_FULL
    assert lead(log, batch()).rolled is None
