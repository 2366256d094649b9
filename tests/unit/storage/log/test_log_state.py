"""The state of a log keeps its first unstable offset, its warnings, and whether it is torn."""

from contextlib import suppress

import pytest

from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log_state import MAX_WARNINGS, LogState
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.segment.log_segments import LogSegments
from tests.unit.storage.log_samples import DIRECTORY, PARTITION, KeptDeletions, LogHarness
from tests.unit.storage.producer_batches import data, end


def state() -> LogState:
    """Return the state of an empty log."""
    harness = LogHarness()
    return LogState(
        partition=PARTITION,
        directory=DIRECTORY,
        table=OpenFileCache(harness.files, 10),
        random=harness.random,
        deletions=KeptDeletions(),
        config=LogConfig(),
        segments=LogSegments(),
        bounds=OffsetBounds(log_start=0, log_end=100),
        epochs=LeaderEpochCheckpointFile(harness.files, DIRECTORY),
        producers=ProducerStateManager(),
        snapshots=SnapshotFiles(harness.files, DIRECTORY),
        last_flush_ms=0,
    )


def test_log_is_unstable_from_its_oldest_open_transaction_on() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))

    known.update_first_unstable()

    assert known.bounds.first_unstable == 7


def test_log_is_stable_when_its_transactions_are_over() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))
    known.update_first_unstable()
    known.producers.replay(end(8))
    known.producers.on_high_watermark(9)

    known.update_first_unstable()

    assert known.bounds.first_unstable is None


def test_log_is_not_unstable_below_its_start() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))
    known.bounds.advance_log_start(50)

    known.update_first_unstable()

    assert known.bounds.first_unstable == 50


def test_warnings_are_limited_in_number() -> None:
    known = state()

    known.warn("one", "two")
    known.warn()
    for number in range(MAX_WARNINGS):
        known.warn(f"batch {number}", "and another")

    assert known.warnings[:3] == ["one", "two", "batch 0"]
    assert len(known.warnings) == MAX_WARNINGS


def test_log_is_torn_by_an_error_in_an_atomic_change() -> None:
    known = state()

    with known.torn_on_error():
        during = known.is_torn
    after = known.is_torn
    with pytest.raises(OSError, match="disk"), known.torn_on_error():
        raise OSError("the disk is gone")

    assert during
    assert not after
    assert known.is_torn


def test_log_stays_torn() -> None:
    known = state()
    with suppress(OSError), known.torn_on_error():
        with known.torn_on_error():
            pass
        raise OSError

    with known.torn_on_error():
        pass

    assert known.is_torn
