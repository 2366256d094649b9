"""What a checkpoint says is taken log by log, and is right whatever happens in between."""

from cordwood.core.types import Offset
from cordwood.storage.checkpoints import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.taking import Taking
from tests.unit.storage.log_samples import filled
from tests.unit.storage.manager_samples import House, made, partition

OTHER = partition(7)


def test_taking_has_what_was_true_when_it_was_taken() -> None:
    manager = House("/a").load()
    (log,) = made(manager)
    taking = Taking(HIGH_WATERMARKS, {"/a": {OTHER: Offset(5)}})

    taking.take(filled(log, 2))
    filled(log, 1)

    assert taking.of("/a") == {OTHER: 5, partition(): 2}


def test_taking_is_of_the_directories_that_are_meant() -> None:
    manager = House("/a", "/b").load()
    taking = Taking(HIGH_WATERMARKS, {"/a": {}})

    for log in made(manager, 0, 1):
        taking.take(log)

    assert (taking.of("/a"), taking.of("/b")) == ({partition(0): 0}, None)


def test_taking_forgets_what_needs_not_be_said_any_more() -> None:
    manager = House("/a").load()
    (log,) = made(manager)
    filled(log, 20).delete_records(1)
    taking = Taking(LOG_START_OFFSETS, {"/a": {}})
    taking.take(log)

    log.truncate_fully(9)
    taking.take(log)

    assert taking.of("/a") == {}


def test_log_that_is_cut_is_taken_again() -> None:
    manager = House("/a").load()
    (log,) = made(manager)
    filled(log, 5).flush()
    taking = manager.begin_taking(RECOVERY_POINTS)
    taking.take(log)

    manager.truncate({partition(): 2})

    assert taking.of("/a") == {partition(): 2}


def test_partition_that_begins_anew_is_forgotten() -> None:
    manager = House("/a").load()
    (log,) = made(manager)
    taking = manager.begin_taking(HIGH_WATERMARKS)
    taking.take(filled(log, 5))

    manager.delete(partition())
    made(manager)

    assert taking.of("/a") == {}
