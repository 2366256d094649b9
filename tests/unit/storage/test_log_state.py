"""What a log is made of knows its oldest undecided transaction, and what was strange in it."""

from contextlib import suppress

import pytest

from cordwood.storage.bounds import OffsetBounds
from cordwood.storage.epoch_file import EpochFile
from cordwood.storage.file_table import FileTable
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_state import MOST_WARNINGS, LogState
from cordwood.storage.producers import ProducerStates
from cordwood.storage.segments import Segments
from cordwood.storage.snapshot_files import SnapshotFiles
from tests.unit.storage.log_samples import DIRECTORY, PARTITION, KeptDeletions, Place
from tests.unit.storage.producer_batches import data, end


def state() -> LogState:
    """Return a log that has nothing yet."""
    place = Place()
    return LogState(
        partition=PARTITION,
        directory=DIRECTORY,
        table=FileTable(place.files, 10),
        random=place.random,
        deletions=KeptDeletions(),
        config=LogConfig(),
        segments=Segments(),
        bounds=OffsetBounds(log_start=0, log_end=100),
        epochs=EpochFile(place.files, DIRECTORY),
        producers=ProducerStates(),
        snapshots=SnapshotFiles(place.files, DIRECTORY),
        last_flush_ms=0,
    )


def test_log_is_unstable_from_its_oldest_open_transaction_on() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))

    known.settle_unstable()

    assert known.bounds.first_unstable == 7


def test_log_is_stable_when_its_transactions_are_over() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))
    known.settle_unstable()
    known.producers.replay(end(8))
    known.producers.on_high_watermark(9)

    known.settle_unstable()

    assert known.bounds.first_unstable is None


def test_log_is_not_unstable_below_its_start() -> None:
    known = state()
    known.producers.replay(data(7, is_transactional=True))
    known.bounds.started_at(50)

    known.settle_unstable()

    assert known.bounds.first_unstable == 50


def test_warnings_are_kept_up_to_a_number() -> None:
    known = state()

    known.warn("one", "two")
    known.warn()
    for number in range(MOST_WARNINGS):
        known.warn(f"batch {number}", "and another")

    assert known.warnings[:3] == ["one", "two", "batch 0"]
    assert len(known.warnings) == MOST_WARNINGS


def test_log_is_torn_by_an_error_in_what_has_to_be_done_to_its_end() -> None:
    known = state()

    with known.as_a_whole():
        during = known.is_torn
    after = known.is_torn
    with pytest.raises(OSError, match="disk"), known.as_a_whole():
        raise OSError("the disk is gone")

    assert (during, after, known.is_torn) == (True, False, True)


def test_log_stays_torn_whatever_is_done_to_its_end_afterwards() -> None:
    known = state()
    with suppress(OSError), known.as_a_whole():
        with known.as_a_whole():
            pass
        raise OSError

    with known.as_a_whole():
        pass

    assert known.is_torn
