"""Which snapshots a partition directory keeps, and which one a log starts from."""

import errno

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.producers import ProducerSettings, ProducerStates
from cordwood.storage.snapshot_files import SnapshotFiles
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from tests.unit.storage.producer_batches import data, end

DIRECTORY = "/orders-0"


def directory(*offsets: int) -> SnapshotFiles:
    """A directory with a snapshot at each offset, of a producer that writes one record each."""
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    snapshots = SnapshotFiles(files, DIRECTORY)
    states = ProducerStates()
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
    found.find()
    return found


def overwrite(snapshots: SnapshotFiles, offset: int, content: bytes) -> None:
    files = files_of(snapshots)
    files.remove(snapshots.path_of(offset))
    files.create(snapshots.path_of(offset)).append(content)


def last_sequence(states: ProducerStates) -> int:
    return states.producers[1].last_sequence


# -- finding and taking


def test_snapshots_are_found_by_their_names_alone() -> None:
    snapshots = directory(2, 10)
    files = files_of(snapshots)
    for name in (f"{3:020}.snapshot.deleted", f"{4:020}.log", "5.snapshot", "notes"):
        files.create(f"{DIRECTORY}/{name}")

    assert reopen(snapshots).offsets == (2, 10)


def test_snapshot_is_taken_once_at_an_offset() -> None:
    snapshots, states = directory(), ProducerStates()
    nothing = snapshots.take(states)
    states.replay(data(0))

    first, second = snapshots.take(states), snapshots.take(states)

    assert nothing is None
    assert first == snapshots.path_of(1)
    assert second is None
    assert names(snapshots) == ["1.snapshot"]


def test_snapshot_survives_a_crash_when_it_is_synced() -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0, 7))
    snapshots.take(states)

    files_of(snapshots).crash()

    loaded = ProducerStates()
    assert reopen(snapshots).load_newest(loaded, log_start_offset=0, now_ms=0) == 1
    assert loaded.producers == states.producers


def test_snapshot_may_be_lost_in_a_crash_when_it_is_not_synced() -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0))
    snapshots.take(states, sync=False)

    pending = len(files_of(snapshots).pending())
    files_of(snapshots).crash()

    assert pending == 2
    assert reopen(snapshots).offsets == ()


def test_snapshot_replaces_a_longer_file_of_its_name() -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0))
    files_of(snapshots).create(snapshots.path_of(1)).append(bytes(1000))

    snapshots.take(states)

    assert files_of(snapshots).stat(snapshots.path_of(1)).size == 56


def test_snapshot_that_could_not_be_written_does_not_count() -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0))
    files_of(snapshots).capacity_bytes = 10

    with pytest.raises(OSError, match="space") as caught:
        snapshots.take(states)
    files_of(snapshots).capacity_bytes = 1000

    assert caught.value.errno == errno.ENOSPC
    assert snapshots.offsets == ()
    assert snapshots.take(states) == snapshots.path_of(1)


# -- loading


def test_snapshot_without_room_leaves_nothing_but_a_word() -> None:
    snapshots, states = directory(5), ProducerStates()
    states.replay(data(8, 8))
    files_of(snapshots).capacity_bytes = files_of(snapshots).used_bytes()

    snapshots.take_if_room(states)

    assert names(snapshots) == ["5.snapshot"]
    assert "No space left" in str(snapshots.troubles[0])


def test_snapshot_that_a_failing_disk_refuses_is_an_error() -> None:
    snapshots, states = directory(5), ProducerStates()
    states.replay(data(8, 8))
    files_of(snapshots).script.add(Fault(on="append", code=errno.EIO))

    with pytest.raises(OSError, match="Input/output"):
        snapshots.take_if_room(states)


def test_load_takes_the_newest_snapshot() -> None:
    snapshots, states = reopen(directory(5, 9)), ProducerStates()

    loaded = snapshots.load_newest(states, log_start_offset=0, now_ms=0)

    assert (loaded, states.map_end_offset, last_sequence(states)) == (9, 9, 8)
    assert snapshots.take(states) is None


@pytest.mark.parametrize("content", (b"", b"\0\1", bytes(56)))
def test_load_removes_a_damaged_snapshot_and_takes_the_older_one(content: bytes) -> None:
    snapshots, states = directory(5, 9), ProducerStates()
    overwrite(snapshots, 9, content)

    loaded = snapshots.load_newest(states, log_start_offset=0, now_ms=0)

    assert (loaded, last_sequence(states)) == (5, 4)
    assert names(snapshots) == ["5.snapshot"]
    assert [type(error) for error in snapshots.troubles] == [DamagedFileError]


def test_load_knows_nothing_at_the_start_of_the_log_when_there_is_no_snapshot() -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0))

    loaded = snapshots.load_newest(states, log_start_offset=7, now_ms=0)

    assert loaded is None
    assert (states.is_empty, states.map_end_offset) == (True, 7)


def test_load_forgets_producers_that_have_expired_meanwhile() -> None:
    snapshots, states = directory(5), ProducerStates(ProducerSettings(id_expiration_ms=100))

    snapshots.load_newest(states, log_start_offset=0, now_ms=1100)

    assert states.is_empty
    assert states.map_end_offset == 5


@pytest.mark.parametrize(("marker", "unstable"), ((None, 0), (end(1), None)))
def test_load_brings_back_what_was_open(marker: object, unstable: int | None) -> None:
    snapshots, states = directory(), ProducerStates()
    states.replay(data(0, is_transactional=True))
    if marker is not None:
        states.replay(end(1))
    snapshots.take(states)
    loaded = ProducerStates()

    snapshots.load_newest(loaded, log_start_offset=0, now_ms=0)

    assert loaded.first_unstable_offset == unstable
    assert loaded.producers == states.producers


# -- truncation and the start of the log


def test_truncation_removes_snapshots_out_of_range_and_loads_the_newest_left() -> None:
    snapshots, states = directory(1, 2, 3, 4, 5), ProducerStates()
    states.advance(5)

    snapshots.truncate_and_reload(states, log_start_offset=1, log_end_offset=3, now_ms=0)

    assert names(snapshots) == ["2.snapshot", "3.snapshot"]
    assert (states.map_end_offset, last_sequence(states)) == (3, 2)


def test_truncation_keeps_the_states_when_they_end_where_the_log_does() -> None:
    snapshots, states = directory(1, 2), ProducerStates()
    states.replay(data(2, 17, is_transactional=True))

    snapshots.truncate_and_reload(states, log_start_offset=1, log_end_offset=3, now_ms=0)

    assert last_sequence(states) == 17
    assert states.first_undecided_offset == 2
    assert snapshots.take(states) == snapshots.path_of(3)


def test_full_truncation_leaves_nothing() -> None:
    snapshots, states = directory(1, 2), ProducerStates()
    states.replay(data(2, is_transactional=True))

    snapshots.truncate_fully(states, 42)

    assert names(snapshots) == []
    assert (states.is_empty, states.first_unstable_offset, states.map_end_offset) == (
        True,
        None,
        42,
    )
    assert snapshots.take(states) == snapshots.path_of(42)


@pytest.mark.parametrize(("offsets", "taken"), (((5,), True), ((), False)))
def test_start_of_the_log_is_where_states_begin(*, offsets: tuple[int, ...], taken: bool) -> None:
    snapshots, states = directory(*offsets), ProducerStates()

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
def test_stray_snapshots_go_but_for_the_one_at_the_end(
    offsets: tuple[int, ...], bases: set[int], kept: tuple[int, ...]
) -> None:
    snapshots = directory(*offsets)

    snapshots.remove_stray(bases)

    assert snapshots.offsets == kept == reopen(snapshots).offsets


@pytest.mark.parametrize(("offset", "kept"), ((1, (1, 2, 5)), (2, (2, 5)), (3, (5,)), (9, ())))
def test_snapshots_go_below_an_offset(offset: int, kept: tuple[int, ...]) -> None:
    snapshots = directory(1, 2, 5)

    snapshots.remove_before(offset)

    assert snapshots.offsets == kept


def test_removal_does_not_mind_when_the_file_has_gone() -> None:
    snapshots = directory(1, 2)
    files_of(snapshots).remove(snapshots.path_of(1))

    snapshots.remove_before(9)

    assert names(snapshots) == []


def test_snapshot_of_a_deleted_segment_is_renamed_and_does_not_count_any_more() -> None:
    snapshots = directory(1, 2)

    path = snapshots.set_aside(1)

    assert path == f"{snapshots.path_of(1)}.deleted"
    assert names(snapshots) == ["1.snapshot.deleted", "2.snapshot"]
    assert snapshots.offsets == (2,)


def test_snapshot_cannot_be_set_aside_when_there_is_none() -> None:
    snapshots = directory(1)
    files_of(snapshots).remove(snapshots.path_of(1))

    assert snapshots.set_aside(1) is None
    assert snapshots.set_aside(2) is None
