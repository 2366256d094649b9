"""Snapshots of a partition directory are written, loaded and removed."""

import errno
from collections.abc import Callable

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.producers import snapshot_files
from cordwood.storage.producers.producer_state_manager import (
    ProducerStateManager,
    ProducerStateManagerConfig,
)
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.producers.snapshot_save import SnapshotSave
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.producer_batches import data, end

DIRECTORY = "/orders-0"


def directory(*offsets: int) -> SnapshotFiles:
    """Return a directory with a snapshot at each offset, after one more record each."""
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    snapshots = SnapshotFiles(files, DIRECTORY)
    states = ProducerStateManager()
    for offset in offsets:
        states.replay(data(offset - 1, offset - 1))
        snapshots.take(states)
    return snapshots


def files_of(snapshots: SnapshotFiles) -> MemoryFiles:
    assert isinstance(snapshots.files, MemoryFiles)
    return snapshots.files


def names(snapshots: SnapshotFiles) -> list[str]:
    return [name.lstrip("0") for name in files_of(snapshots).list(DIRECTORY)]


def reopen(snapshots: SnapshotFiles) -> SnapshotFiles:
    found = SnapshotFiles(files_of(snapshots), DIRECTORY)
    found.scan()
    return found


def overwrite(snapshots: SnapshotFiles, offset: int, content: bytes) -> None:
    files = files_of(snapshots)
    files.remove(snapshots.path_of(offset))
    files.create(snapshots.path_of(offset)).append(content)


def last_sequence(states: ProducerStateManager) -> int:
    return states.producers[1].last_sequence


# -- scanning and taking


def test_snapshots_are_found_by_their_names_alone() -> None:
    snapshots = directory(2, 10)
    files = files_of(snapshots)
    for name in (f"{3:020}.snapshot.deleted", f"{4:020}.log", "5.snapshot", "notes"):
        files.create(f"{DIRECTORY}/{name}")

    assert reopen(snapshots).offsets == (2, 10)


def test_one_snapshot_is_written_per_offset() -> None:
    snapshots, states = directory(), ProducerStateManager()
    nothing = snapshots.take(states)
    states.replay(data(0))

    first, second = snapshots.take(states), snapshots.take(states)

    assert nothing is None
    assert first == snapshots.path_of(1)
    assert second is None
    assert names(snapshots) == ["1.snapshot"]


def test_snapshot_survives_a_crash_when_it_is_synced() -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0, 7))
    snapshots.take(states)

    files_of(snapshots).crash()

    loaded = ProducerStateManager()
    assert reopen(snapshots).load_newest(loaded, log_start_offset=0, now_ms=0) == 1
    assert loaded.producers == states.producers


def test_snapshot_may_be_lost_in_a_crash_when_it_is_not_synced() -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0))
    snapshots.take(states, sync=False)

    pending = len(files_of(snapshots).pending())
    files_of(snapshots).crash()

    assert pending == 2
    assert reopen(snapshots).offsets == ()


def test_snapshot_replaces_a_longer_file_of_its_name() -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0))
    files_of(snapshots).create(snapshots.path_of(1)).append(bytes(1000))

    snapshots.take(states)

    assert files_of(snapshots).stat(snapshots.path_of(1)).size == 56


def test_snapshot_that_could_not_be_written_does_not_count() -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0))
    files_of(snapshots).capacity_bytes = 10

    with pytest.raises(OSError, match="space") as caught:
        snapshots.take(states)
    files_of(snapshots).capacity_bytes = 1000

    assert caught.value.errno == errno.ENOSPC
    assert snapshots.offsets == ()
    assert snapshots.take(states) == snapshots.path_of(1)


# -- loading


def test_snapshot_on_a_full_disk_is_only_an_error() -> None:
    snapshots, states = directory(5), ProducerStateManager()
    states.replay(data(8, 8))
    files_of(snapshots).capacity_bytes = files_of(snapshots).used_bytes()

    snapshots.take_if_space(states)

    assert names(snapshots) == ["5.snapshot"]
    assert "No space left" in str(snapshots.errors[0])


def test_snapshot_on_a_failing_disk_raises() -> None:
    snapshots, states = directory(5), ProducerStateManager()
    states.replay(data(8, 8))
    files_of(snapshots).script.add(FileFault(on="append", code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        snapshots.take_if_space(states)


def test_load_uses_the_newest_snapshot() -> None:
    snapshots, states = reopen(directory(5, 9)), ProducerStateManager()

    loaded = snapshots.load_newest(states, log_start_offset=0, now_ms=0)

    assert loaded == 9
    assert states.map_end_offset == 9
    assert last_sequence(states) == 8
    assert snapshots.take(states) is None


@pytest.mark.parametrize("content", (b"", b"\0\1", bytes(56)))
def test_load_removes_a_damaged_snapshot_and_uses_the_previous_one(content: bytes) -> None:
    snapshots, states = directory(5, 9), ProducerStateManager()
    overwrite(snapshots, 9, content)

    loaded = snapshots.load_newest(states, log_start_offset=0, now_ms=0)

    assert loaded == 5
    assert last_sequence(states) == 4
    assert names(snapshots) == ["5.snapshot"]
    assert [type(error) for error in snapshots.errors] == [DamagedFileError]


def test_load_clears_the_state_at_the_log_start_without_a_snapshot() -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0))

    loaded = snapshots.load_newest(states, log_start_offset=7, now_ms=0)

    assert loaded is None
    assert states.is_empty
    assert states.map_end_offset == 7


def test_load_leaves_out_producers_that_have_expired() -> None:
    snapshots, states = (
        directory(5),
        ProducerStateManager(ProducerStateManagerConfig(id_expiration_ms=100)),
    )

    snapshots.load_newest(states, log_start_offset=0, now_ms=1100)

    assert states.is_empty
    assert states.map_end_offset == 5


@pytest.mark.parametrize(("marker", "unstable"), ((None, 0), (end(1), None)))
def test_load_restores_open_transactions(marker: object, unstable: int | None) -> None:
    snapshots, states = directory(), ProducerStateManager()
    states.replay(data(0, is_transactional=True))
    if marker is not None:
        states.replay(end(1))
    snapshots.take(states)
    loaded = ProducerStateManager()

    snapshots.load_newest(loaded, log_start_offset=0, now_ms=0)

    assert loaded.first_unstable_offset == unstable
    assert loaded.producers == states.producers


# -- truncation and the start of the log


def test_truncation_removes_snapshots_out_of_range_and_loads_the_newest_left() -> None:
    snapshots, states = directory(1, 2, 3, 4, 5), ProducerStateManager()
    states.advance(5)

    snapshots.truncate_and_reload(states, log_start_offset=1, log_end_offset=3, now_ms=0)

    assert names(snapshots) == ["2.snapshot", "3.snapshot"]
    assert states.map_end_offset == 3
    assert last_sequence(states) == 2


def test_truncation_keeps_the_states_when_they_end_where_the_log_does() -> None:
    snapshots, states = directory(1, 2), ProducerStateManager()
    states.replay(data(2, 17, is_transactional=True))

    snapshots.truncate_and_reload(states, log_start_offset=1, log_end_offset=3, now_ms=0)

    assert last_sequence(states) == 17
    assert states.first_undecided_offset == 2
    assert snapshots.take(states) == snapshots.path_of(3)


def test_full_truncation_removes_snapshots_and_state() -> None:
    snapshots, states = directory(1, 2), ProducerStateManager()
    states.replay(data(2, is_transactional=True))

    snapshots.truncate_fully(states, 42)

    assert names(snapshots) == []
    assert states.is_empty
    assert states.first_unstable_offset is None
    assert states.map_end_offset == 42
    assert snapshots.take(states) == snapshots.path_of(42)


@pytest.mark.parametrize(("offsets", "taken"), (((5,), True), ((), False)))
def test_start_of_the_log_is_where_states_begin(*, offsets: tuple[int, ...], taken: bool) -> None:
    snapshots, states = directory(*offsets), ProducerStateManager()

    snapshots.on_log_start(states, 7)

    assert states.map_end_offset == 7
    assert (snapshots.take(states) is not None) is taken


# -- removal


@pytest.mark.parametrize(
    ("offsets", "bases", "kept"),
    (
        ((1, 2, 3, 4), {0, 1, 2}, (1, 2, 4)),
        ((2, 5, 42), {5}, (5, 42)),
        ((2, 5, 42), {42}, (42,)),
        ((2, 5), {42}, ()),
        ((2, 5), set(), (5,)),
        ((2, 5), {2, 5}, (2, 5)),
    ),
)
def test_stray_snapshots_are_removed_except_the_one_at_the_log_end(
    offsets: tuple[int, ...], bases: set[int], kept: tuple[int, ...]
) -> None:
    snapshots = directory(*offsets)

    snapshots.remove_stray(bases)

    assert snapshots.offsets == kept == reopen(snapshots).offsets


def test_removal_accepts_a_missing_file() -> None:
    snapshots = directory(1, 2)
    files_of(snapshots).remove(snapshots.path_of(1))

    snapshots.remove_stray({2})

    assert names(snapshots) == ["2.snapshot"]


def test_snapshot_of_a_deleted_segment_is_renamed_and_removed_from_the_list() -> None:
    snapshots = directory(1, 2)

    path = snapshots.mark_for_deletion(1)

    assert path == f"{snapshots.path_of(1)}.deleted"
    assert names(snapshots) == ["1.snapshot.deleted", "2.snapshot"]
    assert snapshots.offsets == (2,)


def test_missing_snapshot_is_not_marked_for_deletion() -> None:
    snapshots = directory(1)
    files_of(snapshots).remove(snapshots.path_of(1))

    assert snapshots.mark_for_deletion(1) is None
    assert snapshots.mark_for_deletion(2) is None


# -- saved behind a roll


def rolled(*offsets: int) -> tuple[SnapshotFiles, ProducerStateManager]:
    """Return a directory with snapshots in memory only, after one more record each."""
    snapshots, states = directory(), ProducerStateManager()
    for offset in offsets:
        states.replay(data(offset - 1, offset - 1))
        snapshots.take_at_roll(states)
    return snapshots, states


def begun(snapshots: SnapshotFiles) -> SnapshotSave:
    save = snapshots.begin_save()
    assert save is not None
    return save


@pytest.fixture
def many_producers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count one producer as many."""
    monkeypatch.setattr(snapshot_files, "SMALL", 0)


def test_snapshot_of_few_producers_is_written_at_the_roll() -> None:
    snapshots, _ = rolled(2)

    assert (names(snapshots), snapshots.begin_save()) == (["2.snapshot"], None)


@pytest.mark.usefixtures("many_producers")
def test_snapshot_of_many_producers_touches_no_file_at_the_roll() -> None:
    snapshots, _ = rolled(2, 5)

    assert snapshots.offsets == (2, 5)
    assert (names(snapshots), snapshots.has_unsaved) == ([], True)


@pytest.mark.usefixtures("many_producers")
def test_saved_snapshot_has_the_state_of_its_roll() -> None:
    snapshots, states = rolled(2, 5)
    states.replay(data(5, 5))

    snapshots.save()
    loaded = ProducerStateManager()
    reopen(snapshots).load_newest(loaded, log_start_offset=0, now_ms=0)

    assert (names(snapshots), snapshots.has_unsaved) == (["2.snapshot", "5.snapshot"], False)
    assert snapshots.has_new_names
    assert (loaded.map_end_offset, last_sequence(loaded)) == (5, 4)


@pytest.mark.usefixtures("many_producers")
def test_snapshot_in_memory_is_loaded_from_there() -> None:
    snapshots, states = rolled(2, 5)

    snapshots.truncate_and_reload(states, log_start_offset=0, log_end_offset=4, now_ms=0)

    assert (states.map_end_offset, last_sequence(states)) == (2, 1)
    assert snapshots.offsets == (2,)


@pytest.mark.usefixtures("many_producers")
def test_snapshot_that_is_dropped_during_its_save_leaves_no_file() -> None:
    snapshots, states = rolled(2, 5)
    save = begun(snapshots)
    snapshots.truncate_and_reload(states, log_start_offset=0, log_end_offset=4, now_ms=0)

    save.run(snapshots.files)
    snapshots.finish_save(save)

    assert names(snapshots) == ["2.snapshot"]


@pytest.mark.usefixtures("many_producers")
def test_snapshot_that_is_taken_again_during_a_save_is_saved_again() -> None:
    snapshots, states = rolled(5)
    save = begun(snapshots)
    snapshots.truncate_fully(states, 0)
    states.replay(data(4, 44))
    snapshots.take_at_roll(states)

    save.run(snapshots.files)
    snapshots.finish_save(save)
    before = names(snapshots)
    snapshots.save()
    snapshots.load_newest(states, log_start_offset=0, now_ms=0)

    assert (before, names(snapshots)) == ([], ["5.snapshot"])
    assert last_sequence(states) == 44


@pytest.mark.usefixtures("many_producers")
def test_two_saves_of_a_snapshot_do_not_meet() -> None:
    snapshots, _ = rolled(5)
    first, second = begun(snapshots), begun(snapshots)

    for save in (second, first):
        save.run(snapshots.files)
    for save in (first, second):
        snapshots.finish_save(save)

    assert names(snapshots) == ["5.snapshot"]


@pytest.mark.usefixtures("many_producers")
@pytest.mark.parametrize("is_written_first", (True, False))
def test_snapshot_is_saved_again_after_a_move(*, is_written_first: bool) -> None:
    snapshots, _ = rolled(5)
    files, save = files_of(snapshots), begun(snapshots)
    if is_written_first:
        save.run(files)
    files.rename(DIRECTORY, "/moved-0")
    snapshots.directory = "/moved-0"

    snapshots.finish_save(save)
    before = files.list("/moved-0")
    snapshots.save()

    assert (before, files.list("/moved-0")) == ([], [f"{5:020}.snapshot"])


@pytest.mark.usefixtures("many_producers")
@pytest.mark.parametrize("drop", (SnapshotFiles.mark_for_deletion, SnapshotFiles.detach))
def test_snapshot_of_a_segment_that_goes_is_not_saved(
    drop: Callable[[SnapshotFiles, int], object],
) -> None:
    snapshots, _ = rolled(2, 5)

    drop(snapshots, 2)
    snapshots.save()

    assert names(snapshots) == ["5.snapshot"]


@pytest.mark.usefixtures("many_producers")
def test_save_without_space_drops_its_snapshots() -> None:
    snapshots, _ = rolled(2)
    save, error = begun(snapshots), OSError(errno.ENOSPC, "full")
    save.run(snapshots.files)

    snapshots.drop_save(save, error)

    assert (names(snapshots), snapshots.offsets, snapshots.has_unsaved) == ([], (), False)
    assert snapshots.errors == [error]


@pytest.mark.usefixtures("many_producers")
def test_failed_save_may_be_repeated() -> None:
    snapshots, _ = rolled(2)
    save = begun(snapshots)
    save.run(snapshots.files)

    snapshots.abort_save(save)
    before = names(snapshots)
    snapshots.save()

    assert (before, names(snapshots)) == ([], ["2.snapshot"])


@pytest.mark.usefixtures("many_producers")
def test_file_that_a_crash_leaves_is_removed_at_the_next_start() -> None:
    snapshots, _ = rolled(2)
    begun(snapshots).run(snapshots.files)

    assert reopen(snapshots).offsets == ()
    assert names(snapshots) == []
