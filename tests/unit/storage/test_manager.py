"""All logs of all directories together: changed, checkpointed, closed."""

import errno

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.types import TopicName
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.clean_shutdown import read_clean_shutdown
from cordwood.storage.lease import Stage
from cordwood.storage.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.stock import ManagerSettings
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import batch, filled, lead
from tests.unit.storage.manager_samples import (
    ORDERS_ID,
    OTHER_ID,
    HeldWorker,
    House,
    made,
    partition,
)

COMPACTED = LogConfig(cleanup_policy=frozenset({COMPACT}))


def offsets(house: House, name: str, path: str = "/a") -> dict[int, int]:
    found = read_offset_checkpoint(house.files, f"{path}/{name}")
    return {each.partition: offset for each, offset in found.items()}


def test_manager_knows_its_logs_and_their_directories() -> None:
    house = House()
    manager = house.load()

    first, second = made(manager, 0, 1)

    assert manager.logs == {partition(0): first, partition(1): second}
    assert manager.directory_of(second).path == "/b"
    assert manager.get(partition(2)) is None
    assert (manager.has(first), manager.is_serving) == (True, True)


def test_manager_makes_sets_aside_and_promotes() -> None:
    manager = House().load()
    made(manager, 0, 1, 2)

    copy = manager.create_future(partition(0), manager.directories[1])
    futures = dict(manager.futures)
    manager.delete_future(partition(0))
    manager.create_future(partition(0), manager.directories[1])
    promoted = manager.promote(partition(0))
    manager.set_aside(partition(1))
    manager.delete(partition(2))

    assert futures == {partition(0): copy}
    assert manager.logs == {partition(0): promoted}
    assert manager.futures == {}


def test_error_of_a_disk_is_told_as_one_of_storage() -> None:
    manager = House().load()
    log = made(manager)[0]

    refusal = manager.refuse(log, OSError(errno.EIO, "gone"))

    assert str(refusal) == "/a/orders-0: [Errno 5] gone"
    assert not manager.has(log)


# -- configuration


def test_configuration_reaches_all_logs_of_a_topic_and_no_other() -> None:
    manager = House().load()
    made(manager, 0, 1)
    manager.create_future(partition(0), manager.directories[1])
    other = manager.create(partition(topic="other"), topic_id=None)
    config = LogConfig(retention_ms=1)

    manager.adopt(ManagerSettings(config_for=lambda _: config))
    for log in manager.logs_of(TopicName("orders")):
        manager.renew(log)

    assert [log.config == config for log in manager.all_logs()] == [True, True, False, True]
    assert other.config != config


@pytest.mark.parametrize(("config", "is_revoked"), ((LogConfig(), True), (COMPACTED, False)))
def test_cleaner_is_asked_to_stop_when_a_topic_is_not_compacted_any_more(
    config: LogConfig, *, is_revoked: bool
) -> None:
    manager = House(config=COMPACTED).load()
    log = made(manager)[0]
    log.lease = log.lease.take(Stage.CLEANING, "cleaner")

    manager.adopt(ManagerSettings(config_for=lambda _: config))
    manager.renew(log)

    assert log.lease.is_revoked is is_revoked


def test_limits_that_change_count_at_once() -> None:
    manager = House().load()
    log = filled(made(manager)[0], 3)

    manager.adopt(ManagerSettings(config_for=lambda _: LogConfig(segment_bytes=len(batch()))))
    manager.renew(log)
    lead(log, batch())

    assert log.base_offsets == (0, 3)


def test_settings_that_are_adopted_reach_logs_to_come_and_those_that_are_renewed() -> None:
    manager = House().load()
    present = made(manager)[0]
    config, producers = LogConfig(retention_ms=1), ProducerSettings(id_expiration_ms=1)

    manager.adopt(ManagerSettings(config_for=lambda _: config, producers=producers))
    manager.renew(present)
    future = manager.create(partition(topic="later"), topic_id=None)

    assert [log.config for log in (present, future)] == [config, config]
    assert [log.producers.settings for log in (present, future)] == [producers, producers]


# -- truncation


def test_truncation_lowers_the_recovery_point_on_disk_too() -> None:
    house = House()
    manager = house.load()
    filled(made(manager)[0], 5).flush()
    manager.write_recovery_points()

    done = manager.truncate({partition(): 2})

    assert [pending.done() for pending in done] == [True]
    assert offsets(house, RECOVERY_POINTS) == {0: 2}


def test_truncation_above_the_recovery_point_writes_nothing() -> None:
    manager = House().load()
    log = filled(made(manager)[0], 5)
    log.lease = log.lease.take(Stage.CLEANING, "cleaner")

    assert manager.truncate({partition(): 2}) == []
    assert log.bounds.log_end == 2
    assert log.lease.is_revoked


# -- checkpoints


def test_checkpoints_are_written_by_the_worker_from_the_values_of_the_moment() -> None:
    house, worker = House("/a"), HeldWorker()
    manager = house.load(worker)
    log = filled(made(manager)[0], 2)

    pendings = manager.write_high_watermarks()
    filled(log, 1)
    before = offsets(house, HIGH_WATERMARKS)
    worker.go_on()

    assert (before, offsets(house, HIGH_WATERMARKS)) == ({}, {0: 2})
    assert [pending.done() for pending in pendings] == [True]


def test_checkpoints_name_the_logs_of_their_directory() -> None:
    house = House()
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 3).flush()
    filled(manager.logs[partition(1)], 20).delete_records(1)

    manager.write_recovery_points()
    manager.write_log_starts()

    assert [offsets(house, RECOVERY_POINTS, path) for path in ("/a", "/b")] == [{0: 3}, {1: 3}]
    assert [offsets(house, LOG_START_OFFSETS, path) for path in ("/a", "/b")] == [{}, {1: 1}]


def test_checkpoints_of_directories_that_are_not_loaded_are_left_alone() -> None:
    house = House("/a")
    filled(made(house.load())[0], 3)
    house.files.crash()
    manager = house.open()

    assert manager.write_recovery_points() == []


# -- the end


def test_closed_manager_leaves_clean_directories() -> None:
    house = House()
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 3)

    manager.close(broker_epoch=17)
    house.files.crash()

    assert read_clean_shutdown(house.files, "/a") == (17,)
    assert offsets(house, RECOVERY_POINTS) == {0: 3}
    assert offsets(house, HIGH_WATERMARKS) == {0: 3}
    again = house.load()
    assert [log.bounds.recovery_point for log in again.logs.values()] == [3, 3]


def test_manager_that_was_not_loaded_leaves_no_clean_mark_where_there_was_none() -> None:
    house = House("/a")
    manager = house.open()

    manager.close()

    assert read_clean_shutdown(house.files, "/a") is None


def test_second_manager_of_a_directory_is_refused_until_the_first_is_closed() -> None:
    house = House()
    first = house.load()
    with pytest.raises(LogDirectoryError, match="/a: is in use by another process"):
        house.open()

    first.close()

    assert house.load().is_serving


def test_directory_that_fails_while_it_is_closed_is_not_clean_and_the_others_are() -> None:
    house = House()
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 1)
    house.files.script.add(Fault(on="sync", path="/a/orders-0/*"))

    manager.close()

    marks = [read_clean_shutdown(house.files, path) for path in ("/a", "/b")]
    assert [mark is not None for mark in marks] == [False, True]
    assert house.load().is_serving


def test_log_that_cannot_be_closed_costs_the_mark_and_no_other_log() -> None:
    house = House("/a")
    manager = house.load()
    for log in made(manager, 0, 1):
        filled(log, 1)
    house.files.script.add(Fault(on="*", path="/a/orders-0/*", code=errno.ENOSPC, times=9))

    manager.close()

    assert read_clean_shutdown(house.files, "/a") is None
    assert house.events[0].startswith("/a/orders-0 could not be closed: [Errno 28]")
    assert offsets(house, RECOVERY_POINTS) == {0: 0, 1: 1}


def test_directory_is_not_clean_when_its_last_checkpoint_cannot_be_written() -> None:
    house = House("/a")
    manager = house.load()
    filled(made(manager)[0], 1)
    house.files.script.add(Fault(on="rename", path=f"/a/{RECOVERY_POINTS}", code=errno.ENOSPC))

    manager.close()

    assert read_clean_shutdown(house.files, "/a") is None


def test_offline_directory_is_left_as_it_is_and_its_lock_given_back() -> None:
    house = House()
    manager = house.load()
    made(manager)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    manager.close()

    assert read_clean_shutdown(house.files, "/a") is None
    assert house.load().get(partition()) is not None


def test_deleted_directories_wait_for_the_next_start_when_the_manager_is_closed() -> None:
    house = House("/a")
    manager = house.load()
    made(manager)
    manager.delete(partition())
    manager.close()

    house.clock.advance(seconds=60)
    left = house.names("/a")
    house.load()
    house.clock.advance(seconds=60)

    assert len(left) == 1
    assert house.names("/a") == []


def test_closed_manager_refuses_to_use_make_and_move_logs() -> None:
    manager = House("/a").load()
    log = made(manager)[0]
    manager.close()

    with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
        manager.using(log).__enter__()
    for ask in (manager.delete, manager.set_aside, manager.topic_id):
        with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
            ask(partition())
    for number in (0, 1):
        with pytest.raises(KafkaStorageError, match="log directory /a has been closed"):
            manager.create(partition(number), topic_id=None)


def test_log_that_is_offline_is_refused_and_not_made_anew() -> None:
    manager = House().load()
    made(manager)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    for ask in (manager.get, manager.delete, manager.topic_id):
        with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
            ask(partition())
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        manager.create(partition(), topic_id=ORDERS_ID, is_new=True)


def test_checkpoints_stay_when_the_manager_is_closed_before_it_has_loaded() -> None:
    house = House("/a")
    manager = house.load()
    filled(made(manager)[0], 3)
    manager.close()

    house.open().close()

    assert offsets(house, RECOVERY_POINTS) == {0: 3}


def test_logs_that_a_directory_takes_along_are_told_once() -> None:
    house, told = House(), list[Log]()
    manager = house.load()
    first, second = made(manager, 0, 1)
    manager.on_lost(told.extend)

    manager.fail(manager.directory_of(first), OSError(errno.EIO, "gone"))
    manager.fail(manager.directory_of(first), OSError(errno.EIO, "gone"))

    assert (told, manager.has(second)) == ([first], True)


def test_manager_keeps_how_far_a_log_is_clean() -> None:
    house = House("/a")
    manager = house.load()
    log = filled(made(manager)[0], 5)

    manager.cleaned(log, 3)
    manager.close()

    assert house.load().logs[partition()].bounds.cleaned_to == 3


def test_truncation_cuts_how_far_a_log_is_clean_on_disk_too() -> None:
    house = House("/a")
    manager = house.load()
    manager.cleaned(filled(made(manager)[0], 5), 4)

    manager.truncate({partition(): 2})

    at = f"/a/{CLEANER_OFFSETS}"
    assert read_offset_checkpoint(house.files, at) == {partition(): 2}


def test_deleted_log_leaves_nothing_for_the_next_one_of_its_name() -> None:
    house = House("/a")
    manager = house.load()
    manager.cleaned(filled(made(manager)[0], 5), 4)

    manager.delete(partition())
    log = manager.create(partition(), topic_id=OTHER_ID)

    assert log.bounds.cleaned_to is None
    assert read_offset_checkpoint(house.files, f"/a/{CLEANER_OFFSETS}") == {}


def test_copy_is_as_clean_as_the_log_that_it_replaces() -> None:
    manager = House().load()
    log = filled(made(manager)[0], 5)
    manager.cleaned(log, 4)
    other = next(each for each in manager.directories if each is not manager.directory_of(log))
    filled(manager.create_future(partition(), other), 5)

    assert manager.promote(partition()).bounds.cleaned_to == 4


def test_cleaner_of_a_log_has_to_stop_when_its_directory_fails() -> None:
    manager = House("/a").load()
    log = made(manager)[0]
    log.lease = log.lease.take(Stage.CLEANING, "cleaner")

    manager.fail(manager.directories[0], OSError("gone"))

    assert log.lease.is_revoked
