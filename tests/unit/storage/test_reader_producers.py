"""What producers did, as a directory tells it."""

import pytest

from cordwood.storage.log import Log
from cordwood.storage.names import SNAPSHOT
from cordwood.storage.origin import Origin
from cordwood.storage.producers import ProducerStates
from cordwood.storage.reader_producers import producers_of, read_snapshot
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, Place, batch, lead, marker, produced
from tests.unit.storage.reader_samples import THREES, harm, name, reader


def written() -> tuple[Place, Log]:
    """A log whose producer 1 aborts at 5 what it began at 2; 2 writes one batch, at 6."""
    place = Place()
    log = place.open(THREES)
    lead(log, batch(), batch())
    lead(log, *(produced(at, is_transactional=True) for at in range(3)))
    lead(log, marker(), origin=Origin.COORDINATOR)
    lead(log, produced(0, producer=(2, 5)), batch())
    log.roll()
    log.flush()
    return place, log


def found(place: Place, high_watermark: int = 8) -> ProducerStates:
    return producers_of(reader(place.files), high_watermark=high_watermark, log_end=8)


def without_snapshots(files: MemoryFiles, last: int | None = None) -> None:
    for each in files.list(DIRECTORY):
        if each.endswith(SNAPSHOT) and each != name(8 if last is None else last, SNAPSHOT):
            files.remove(f"{DIRECTORY}/{each}")


def test_producers_are_those_that_the_owner_knows() -> None:
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
    """The newest snapshot, from the log's end, does not know of it any more."""
    place, log = written()
    log.set_high_watermark(high_watermark)

    assert found(place, high_watermark).first_unstable_offset == expected
    assert log.producers.first_unstable_offset == expected


def test_snapshot_that_is_damaged_is_none() -> None:
    place, _ = written()
    harm(place.files, name(6, SNAPSHOT), 3)

    assert read_snapshot(reader(place.files), 6) is None
    assert read_snapshot(reader(place.files), 7) is None
    assert read_snapshot(reader(place.files), 8) is not None
    assert len(found(place, 6).producers) == 2


def test_marker_that_cannot_be_read_ends_no_transaction() -> None:
    place, _ = written()
    without_snapshots(place.files, last=99)
    position = place.bytes_of(name(3)).index(b"\x00\x00\x00\x00\x00\x00\x00\x05")
    harm(place.files, name(3), position + 61, b"\xff" * 8)

    assert found(place).first_unstable_offset == 2
