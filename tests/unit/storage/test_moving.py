"""Directories of logs get other names, and a partition is never in two places."""

import errno
from collections.abc import Callable

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.lease import Stage
from cordwood.storage.manager import LogManager
from cordwood.testing.faults import Fault
from tests.unit.storage.log_samples import SMALL, batch, filled, follow, lead
from tests.unit.storage.manager_samples import House, made, partition


def ends(house: House) -> dict[TopicPartition, tuple[str, int]]:
    """Return where logs are and where they end, after a crash."""
    house.files.crash()
    logs = house.load().logs
    return {each: (log.directory, log.bounds.log_end) for each, log in logs.items()}


def test_deleted_log_is_gone_at_once_and_its_files_a_while_later() -> None:
    house = House()
    manager = house.load()
    filled(made(manager)[0], 3)

    manager.delete(partition())
    renamed = house.names("/a")
    house.clock.advance(seconds=60)

    assert manager.get(partition()) is None
    assert len(renamed) == 1
    assert renamed[0].startswith("orders-0.")
    assert renamed[0].endswith("-delete")
    assert house.names("/a") == []


def test_deletion_survives_a_crash() -> None:
    house = House()
    manager = house.load()
    made(manager)

    manager.delete(partition())
    house.files.crash()

    assert house.load().logs == {}


@pytest.mark.parametrize("length", (200, 249))
def test_deleted_directory_has_a_name_that_file_systems_take(length: int) -> None:
    house = House()
    manager = house.load()
    long = partition(topic="x" * length)
    manager.create(long, topic_id=None)

    manager.delete(long)

    assert len(house.names("/a")[0]) <= 255


def test_log_that_is_not_there_cannot_be_deleted() -> None:
    with pytest.raises(KafkaStorageError, match="there is no log of orders-0 here"):
        House().load().delete(partition())


def test_deletion_asks_who_is_at_work_to_stop() -> None:
    manager = House().load()
    log = made(manager)[0]
    log.lease = log.lease.take(Stage.CLEANING, "cleaner")

    manager.delete(partition())

    assert log.lease.is_revoked


def test_deletion_that_fails_takes_the_directory_offline() -> None:
    house = House()
    manager = house.load()
    made(manager)
    house.files.script.add(Fault(on="rename", path="/a/*-delete"))

    with pytest.raises(KafkaStorageError, match="/a/orders-0: "):
        manager.delete(partition())

    assert not manager.directories[0].is_online


def test_stray_log_is_kept_for_the_operator() -> None:
    house = House()
    manager = house.load()
    made(manager)

    manager.set_aside(partition())
    house.clock.advance(days=1)

    assert manager.get(partition()) is None
    assert house.names("/a")[0].endswith("-stray")
    assert ends(house) == {}


def test_copy_can_be_given_up() -> None:
    house = House()
    manager = house.load()
    made(manager)
    manager.create_future(partition(), manager.directories[1])

    manager.delete_future(partition())

    assert house.names("/b")[0].endswith("-delete")
    assert list(manager.logs) == [partition()]
    assert manager.futures == {}


def _with_copy(house: House) -> LogManager:
    """Return a manager of a log in /a and its copy in /b."""
    manager = house.load()
    filled(made(manager)[0], 2)
    copy = manager.create_future(partition(), manager.directories[1])
    follow(copy, batch(at=0), batch(at=1))
    return manager


def test_promoted_copy_takes_the_place_of_the_log() -> None:
    house = House()
    manager = _with_copy(house)

    log = manager.promote(partition())

    assert (manager.logs, manager.futures) == ({partition(): log}, {})
    assert log.directory == "/b/orders-0"
    assert (log.bounds.high_watermark, log.bounds.recovery_point) == (2, 2)
    assert house.names("/a")[0].endswith("-delete")
    assert lead(log, batch()).first_offset == 2


def test_promotion_survives_a_crash_and_the_old_log_goes() -> None:
    house = House()
    manager = _with_copy(house)
    manager.promote(partition())

    logs = ends(house)
    house.clock.advance(seconds=60)

    assert logs == {partition(): ("/b/orders-0", 2)}
    assert house.names("/a") == []


def test_copy_whose_log_has_gone_can_be_promoted() -> None:
    house = House()
    manager = _with_copy(house)
    manager.delete(partition())

    log = manager.promote(partition())

    assert log.directory == "/b/orders-0"


def test_log_gets_its_name_back_when_the_promotion_fails() -> None:
    house = House()
    manager = _with_copy(house)
    house.files.script.add(Fault(on="rename", path="/b/orders-0"))

    with pytest.raises(KafkaStorageError, match="/b/orders-0"):
        manager.promote(partition())

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert house.names("/a") == ["orders-0"]
    assert manager.futures == {}


def test_copy_without_a_log_stays_a_copy_when_there_is_no_space_for_its_name() -> None:
    house = House()
    manager = _with_copy(house)
    manager.delete(partition())
    house.files.script.add(Fault(on="rename", path="/b/orders-0", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match="No space left"):
        manager.promote(partition())

    assert list(manager.futures) == [partition()]


def test_promotion_is_refused_without_a_copy() -> None:
    manager = House().load()
    made(manager)

    with pytest.raises(KafkaStorageError, match="there is no log of orders-0 here"):
        manager.promote(partition())


# -- what fails half way

CODES = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENAMETOOLONG)


def _refused(house: House, call: int, code: int, ask: Callable[[TopicPartition], object]) -> bool:
    """Ask for something of which one call fails; say whether that was refused."""
    house.files.script.add(Fault(on="*", path="/[ab]*", first=call, code=code))
    try:
        ask(partition())
    except KafkaStorageError:
        return True
    finally:
        house.files.script.reset()
    return False


def _ensure_agreed(house: House, manager: LogManager) -> None:
    """What is known of the directories that are online is what is in them."""
    online = [each.path for each in manager.directories if each.is_online]
    on_disk = [f"{path}/{name}" for path in online for name in house.names(path)]
    known = {log.directory for log in manager.all_logs()}
    assert known == {each for each in on_disk if each.endswith(("/orders-0", "-future"))}


def _ensure_kept(house: House) -> None:
    """The next start finds the partition in one place at most, and its records somewhere."""
    house.load()
    found = [f"{path}/{name}" for path in house.paths for name in house.names(path)]
    left = [each for each in found if not each.endswith("-delete")]
    assert any(house.files.stat(f"{each}/{0:020}.log").size for each in left)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("is_all_kept", (False, True))
def test_partition_is_in_one_place_wherever_its_promotion_fails(
    code: int, *, is_all_kept: bool
) -> None:
    refused = []
    for call in range(1, 25):
        house = House(config=SMALL)
        manager = _with_copy(house)
        manager.logs[partition()].flush()
        refused.append(_refused(house, call, code, manager.promote))

        _ensure_agreed(house, manager)
        pending = range(len(house.files.pending()))
        house.files.crash(pending if is_all_kept else ())
        _ensure_kept(house)

    assert sum(refused) > 5
    assert not refused[-1]


@pytest.mark.parametrize("code", CODES)
def test_log_is_there_or_gone_wherever_its_deletion_fails(code: int) -> None:
    refused = []
    for call in range(1, 5):
        house = House()
        manager = house.load()
        made(manager)
        refused.append(_refused(house, call, code, manager.delete))

        _ensure_agreed(house, manager)

    assert refused == [True, True, False, False]


def test_deletion_that_cannot_be_synced_takes_the_directory_offline() -> None:
    house = House()
    manager = house.load()
    made(manager)
    house.files.script.add(Fault(on="sync_directory", path="/a", code=errno.EMFILE))

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0.*-delete: .*Too many open files"):
        manager.delete(partition())

    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        manager.get(partition())


def test_log_stays_aside_when_its_copy_may_have_its_name() -> None:
    house = House()
    manager = _with_copy(house)
    house.files.script.add(Fault(on="sync_directory", path="/b", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match=r"/b/orders-0: .*No space left"):
        manager.promote(partition())

    with pytest.raises(KafkaStorageError, match="log directory /b is offline"):
        manager.get(partition())
    assert house.names("/a")[0].endswith("-stray")
    assert house.events[-1].endswith("-stray is kept: /b may have its copy")


def test_directory_is_offline_when_a_log_cannot_get_its_name_back() -> None:
    house = House()
    manager = _with_copy(house)
    house.files.script.add(Fault(on="rename", path="/?/orders-0", code=errno.ENOSPC, times=2))

    with pytest.raises(KafkaStorageError, match="/b/orders-0"):
        manager.promote(partition())

    assert [directory.is_online for directory in manager.directories] == [False, True]
    assert list(manager.futures) == [partition()]


def test_log_that_has_been_replaced_stays_aside_when_it_cannot_be_deleted() -> None:
    house = House()
    manager = _with_copy(house)
    house.files.script.add(Fault(on="rename", path="/a/*-delete", code=errno.ENOSPC))

    log = manager.promote(partition())

    assert manager.logs == {partition(): log}
    assert house.names("/a")[0].endswith("-stray")
    assert "-stray has been replaced and can be removed: " in house.events[-1]


def test_copy_that_cannot_be_synced_is_not_promoted() -> None:
    house = House()
    manager = _with_copy(house)
    house.files.script.add(Fault(on="sync", path="/b/*", code=errno.ENOSPC))

    with pytest.raises(KafkaStorageError, match=r"-future: .*No space left"):
        manager.promote(partition())

    assert manager.logs[partition()].directory == "/a/orders-0"
    assert manager.futures == {}
