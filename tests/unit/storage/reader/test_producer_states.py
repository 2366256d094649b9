"""Producer states are loaded from a snapshot and the log after it."""

import pytest

from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.file_names import SNAPSHOT
from cordwood.storage.log.log import Log
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.reader.partition_reader import PartitionCheckpoints
from cordwood.storage.reader.producer_states import load_producer_states, read_snapshot
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, lead, marker, produced
from tests.unit.storage.reader_samples import THREES, harm, name, reader


def written() -> tuple[LogHarness, Log]:
    """Return a log: producer 1 aborts its transaction of offset 2 at 5; producer 2 writes at 6."""
    place = LogHarness()
    log = place.open(THREES)
    lead(log, batch(), batch())
    lead(log, *(produced(at, is_transactional=True) for at in range(3)))
    lead(log, marker(), origin=AppendOrigin.COORDINATOR)
    lead(log, produced(0, producer=(2, 5)), batch())
    log.roll()
    log.flush()
    return place, log


def found(place: LogHarness, high_watermark: int = 8) -> ProducerStateManager:
    return load_producer_states(reader(place.files), high_watermark=high_watermark, log_end=8)


def without_snapshots(files: MemoryFiles, last: int | None = None) -> None:
    for each in files.list(DIRECTORY):
        if each.endswith(SNAPSHOT) and each != name(8 if last is None else last, SNAPSHOT):
            files.remove(f"{DIRECTORY}/{each}")


def test_producer_states_equal_those_of_the_log() -> None:
    place, log = written()

    for _ in (1, 2):
        states = found(place).producers

        assert {
            each.producer_id: (each.producer_epoch, each.last_offset) for each in states.values()
        } == {
            each.producer_id: (each.producer_epoch, each.last_offset)
            for each in log.producers.producers.values()
        }
        assert len(states) == 2
        without_snapshots(place.files, last=99)


@pytest.mark.parametrize(("high_watermark", "expected"), ((2, 2), (5, 2), (6, None), (8, None)))
def test_transaction_is_unstable_until_its_marker_is_replicated(
    high_watermark: int, expected: int | None
) -> None:
    """The newest snapshot, at the log end, does not contain the transaction."""
    place, log = written()
    log.set_high_watermark(high_watermark)

    assert found(place, high_watermark).first_unstable_offset == expected
    assert log.producers.first_unstable_offset == expected


def test_snapshot_below_the_log_start_is_not_loaded() -> None:
    """The log's owner removes it when it opens the log. All data of the transaction are deleted."""
    place, _ = written()
    without_snapshots(place.files, last=3)
    bounded = reader(place.files, PartitionCheckpoints(log_start=5))

    states = load_producer_states(bounded, high_watermark=5, log_end=8)

    assert states.first_unstable_offset is None
    assert states.producers[2].last_offset == 6


def test_damaged_snapshot_is_none() -> None:
    place, _ = written()
    harm(place.files, name(6, SNAPSHOT), 3)

    assert read_snapshot(reader(place.files), 6) is None
    assert read_snapshot(reader(place.files), 7) is None
    assert read_snapshot(reader(place.files), 8) is not None
    assert len(found(place, 6).producers) == 2


def test_unreadable_marker_does_not_end_a_transaction() -> None:
    place, _ = written()
    without_snapshots(place.files, last=99)
    position = place.bytes_of(name(3)).index(b"\x00\x00\x00\x00\x00\x00\x00\x05")
    harm(place.files, name(3), position + 61, b"\xff" * 8)

    assert found(place).first_unstable_offset == 2
