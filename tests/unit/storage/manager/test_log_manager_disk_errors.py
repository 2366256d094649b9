"""Full disks, failing disks and damage cost a call, a log or a directory, and never records."""

import errno

import pytest

from cordwood.core.errors import CorruptMessageError, DamagedFileError, KafkaStorageError
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.checkpoint_files import (
    RECOVERY_POINTS,
)
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.segment.abstract_index import (
    IndexOrderError,
    SegmentOverflowError,
    UnfitEntryError,
)
from cordwood.testing.file_faults import FileFault
from tests.unit.storage.log_samples import (
    batch,
    bytes_of,
    filled,
    follow,
    lead,
    marker,
    produced,
    read,
)
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def append(manager: LogManager, log: Log, data: bytearray | None = None, *, epoch: int = 0) -> int:
    """Append as the broker does; return the offset."""
    with manager.using(log):
        return lead(log, data or batch(), epoch=epoch).first_offset


def online(manager: LogManager) -> list[bool]:
    return [directory.is_online for directory in manager.directories]


def test_full_disk_rejects_appends_and_serving_resumes_when_space_returns() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1)
    before = bytes_of(read(log, 0))
    harness.files.capacity_bytes = harness.files.used_bytes()

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0: .*No space left"):
        append(manager, log)
    while_full = bytes_of(read(log, 0))
    harness.files.capacity_bytes *= 2

    assert while_full == before
    assert online(manager) == [True, True]
    assert append(manager, log) == 1
    (event,) = harness.events
    assert "requests rejected for want of space" in event


def test_full_disk_never_tears_a_batch() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1)
    harness.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC, kept=40))

    with pytest.raises(KafkaStorageError):
        append(manager, log)

    assert harness.files.stat(f"/a/orders-0/{0:020}.log").size == log.size
    assert append(manager, log) == 1


def test_full_disk_is_reported_once_an_interval() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1)
    harness.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC, times=6))

    for number in range(6):
        harness.clock.advance(seconds=9 if number == 5 else 1)
        with pytest.raises(KafkaStorageError):
            append(manager, log)

    assert manager.transient_errors.counts == {("/a", "space"): 6}
    assert [event.partition(":")[2][:43] for event in harness.events] == [
        " 1 requests rejected for want of space: [Er",
        " 5 requests rejected for want of space: [Er",
    ]


def test_log_continues_when_a_roll_has_found_no_space() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 5)
    for call, path in (("pwrite", "*.timeindex"), ("append", "*.snapshot"), ("create", "*.log")):
        harness.files.script.add(FileFault(on=call, path=path, code=errno.ENOSPC))
        with pytest.raises(KafkaStorageError, match="No space left"):
            append(manager, log)

    offset = append(manager, log)

    assert offset == 5
    assert log.base_offsets == (0, 5)
    assert bytes_of(read(log, 0)) != b""
    assert online(manager) == [True, True]


@pytest.mark.parametrize("code", (errno.ENOSPC, errno.EDQUOT, errno.EMFILE))
def test_directory_is_offline_when_a_rejected_append_cannot_be_reverted(code: int) -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1)
    harness.files.script.add(FileFault(on="create", path="*.timeindex", code=code, times=9))
    harness.files.script.add(FileFault(on="truncate", path="*.log", code=code, times=9))
    log.roll()

    with pytest.raises(KafkaStorageError):
        append(manager, log)
    found = (log.is_torn, online(manager))
    manager.close()
    harness.files.script.reset()

    assert found == (True, [False, True])
    assert harness.load().logs[partition()].bounds.log_end == 1


def test_append_without_a_descriptor_is_rejected_and_leaves_the_log_whole() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1)
    manager.options.open_files.close()
    harness.files.script.add(FileFault(on="open", path="*.log", code=errno.EMFILE, times=2))

    with pytest.raises(KafkaStorageError, match="Too many open files"):
        append(manager, log)
    harness.files.script.reset()

    assert online(manager) == [True, True]
    assert append(manager, log) == 1


def test_epochs_are_saved_later_when_there_was_no_space_for_them() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 1, epoch=1)
    append(manager, log, epoch=2)
    harness.files.script.add(
        FileFault(on="append", path="*epoch-checkpoint.tmp", code=errno.ENOSPC)
    )
    with pytest.raises(OSError, match="No space left"):
        log.flush()

    log.flush()
    harness.files.crash()

    assert harness.load().logs[partition()].epochs.entries == log.epochs.entries
    assert [entry.epoch for entry in log.epochs.entries] == [1, 2]


def test_directory_is_offline_when_an_aborted_transaction_cannot_be_indexed() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = create_logs(manager)[0]
    follow(log, produced(0, is_transactional=True))
    harness.files.script.add(FileFault(on="*", path="*.txnindex", code=errno.ENOSPC, times=9))

    with pytest.raises(KafkaStorageError), manager.using(log):
        lead(log, marker(), origin=AppendOrigin.COORDINATOR)

    assert online(manager) == [False, True]


def test_directory_is_offline_when_a_truncation_stops_half_way() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 3)
    harness.files.script.add(FileFault(on="sync", path="*.log", code=errno.ENOSPC, times=9))

    with pytest.raises(KafkaStorageError), manager.using(log):
        log.truncate_to(0)

    assert online(manager) == [False, True]


def test_failing_disk_takes_its_directory_offline_with_its_logs() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    lost, other, also_lost = create_logs(manager, 0, 1, 2)
    harness.files.script.add(FileFault(on="pwrite", path="/a/*"))

    with pytest.raises(KafkaStorageError, match=r"/a/orders-0: .*Input/output error"):
        append(manager, lost)

    assert list(manager.logs) == [partition(1)]
    assert append(manager, other) == 0
    with pytest.raises(KafkaStorageError, match="log directory /a is offline"):
        append(manager, also_lost)
    assert harness.events == [
        f"/a is offline with 2 logs: [Errno 5] Input/output error: '/a/orders-0/{0:020}.log'"
    ]


def test_directory_fails_once() -> None:
    harness = LogManagerHarness()
    manager = harness.load()

    for words in ("first", "second"):
        manager.fail(manager.directories[0], OSError(errno.EIO, words))

    assert harness.events == ["/a is offline with 0 logs: [Errno 5] first"]


def test_directory_fails_even_if_its_files_cannot_be_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    def refuse(_: OpenFileCache, directory: str) -> None:
        raise OSError(errno.EIO, directory)

    monkeypatch.setattr(OpenFileCache, "forget_under", refuse)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    assert not manager.has(log)


def test_open_files_are_searched_once_for_all_logs_of_a_lost_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager, searched = LogManagerHarness("/a").load(), list[str]()
    create_logs(manager, 0, 1, 2)
    forget_under = OpenFileCache.forget_under

    def forget(cache: OpenFileCache, directory: str) -> None:
        searched.append(directory)
        forget_under(cache, directory)

    monkeypatch.setattr(OpenFileCache, "forget_under", forget)
    manager.fail(manager.directories[0], OSError(errno.EIO, "gone"))

    assert (searched, manager.options.open_files.open_count) == (["/a"], 0)


@pytest.mark.parametrize("code", (errno.EMFILE, errno.ENFILE, errno.EDQUOT, errno.ENOSPC))
def test_temporary_shortage_is_a_storage_error(code: int) -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    with pytest.raises(KafkaStorageError, match="/a/orders-0: "), manager.using(log):
        raise OSError(code, "short")

    assert online(manager) == [True, True]


def test_damage_outside_the_records_is_a_storage_error() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    with pytest.raises(KafkaStorageError, match="/x: odd; mend it"), manager.using(log):
        raise DamagedFileError("odd", path="/x", remedy="mend it")

    assert online(manager) == [True, True]


@pytest.mark.parametrize("kind", (IndexOrderError, SegmentOverflowError))
def test_entry_without_a_place_in_its_index_is_raised_to_the_caller(
    kind: type[UnfitEntryError],
) -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    with pytest.raises(KafkaStorageError, match="/a/orders-0: 6 after 7"), manager.using(log):
        raise kind("6 after 7")

    assert online(manager) == [True, True]


def test_record_errors_are_not_translated() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    with pytest.raises(CorruptMessageError), manager.using(log):
        raise CorruptMessageError("odd")

    assert online(manager) == [True, True]


def test_missing_descriptor_does_not_take_the_directory_offline() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    refusal = manager.fail_log(log, OSError(errno.EMFILE, "too many"))

    assert str(refusal) == "/a/orders-0: [Errno 24] too many"
    assert online(manager) == [True, True]


def test_missing_descriptor_takes_the_directory_offline_when_a_log_is_torn() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    log = filled(create_logs(manager)[0], 3)
    harness.files.script.add(FileFault(on="open", path="*/orders-0/*", code=errno.EMFILE, times=9))
    manager.options.open_files.close()

    with pytest.raises(KafkaStorageError), manager.using(log):
        log.truncate_to(1)

    assert online(manager) == [False, True]


def test_missing_space_takes_the_directory_offline() -> None:
    manager = LogManagerHarness().load()
    log = create_logs(manager)[0]

    manager.fail_log(log, OSError(errno.ENOSPC, "full"))

    assert online(manager) == [False, True]


def test_checkpoint_without_space_is_reported_and_written_the_next_time() -> None:
    harness = LogManagerHarness("/a")
    manager = harness.load()
    filled(create_logs(manager)[0], 3).flush()
    path = f"/a/{RECOVERY_POINTS}"
    harness.files.script.add(FileFault(on="append", path=f"{path}.tmp", code=errno.ENOSPC))

    manager.checkpoints.write_all(RECOVERY_POINTS)
    size = harness.files.stat(path).size
    manager.checkpoints.write_all(RECOVERY_POINTS)

    assert harness.events[0].startswith("/a: a checkpoint could not be written: [Errno 28]")
    assert size == 0
    assert online(manager) == [True]
    assert harness.files.stat(path).size > 0


def test_checkpoint_that_fails_takes_its_directory_offline() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    harness.files.script.add(FileFault(on="append", path="/a/*.tmp"))

    manager.checkpoints.write_all(RECOVERY_POINTS)

    assert online(manager) == [False, True]


def test_file_that_cannot_be_removed_is_reported() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager)
    harness.files.script.add(FileFault(on="remove", path="/a/*", times=9))

    log_renames.delete(manager, partition())
    harness.clock.advance(seconds=60)

    assert "could not be removed ([Errno 5]" in harness.events[0]
    assert online(manager) == [True, True]


def test_directory_with_a_failed_disk_is_offline_and_work_continues() -> None:
    manager = LogManagerHarness().load()

    with manager.failing(manager.directories[0]):
        _find_it_gone()

    assert manager.online == [manager.directories[1]]


def _find_it_gone() -> None:
    raise OSError(errno.EIO, "gone")
