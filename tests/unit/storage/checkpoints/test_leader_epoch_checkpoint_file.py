"""Leader epochs are saved behind their changes, off the thread that makes them."""

import errno

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.atomic_write import read_whole
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

DIRECTORY = "/t-0"


def directory() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    return files


def epochs(files: MemoryFiles, *entries: tuple[int, int]) -> LeaderEpochCheckpointFile:
    """Return the file with these epochs in it."""
    file = LeaderEpochCheckpointFile(files, DIRECTORY)
    for epoch, start_offset in entries:
        file.assign(epoch, start_offset)
    file.save()
    return file


def entries(files: MemoryFiles) -> list[tuple[int, int]]:
    """Return the epochs on disk after a crash."""
    files.crash()
    file = LeaderEpochCheckpointFile(files, DIRECTORY)
    file.load()
    return [(entry.epoch, entry.start_offset) for entry in file.current.entries]


def test_log_without_a_file_has_no_epochs() -> None:
    assert entries(directory()) == []


def test_epochs_survive_a_crash_once_they_are_saved() -> None:
    files = directory()

    epochs(files, (0, 0), (3, 120))

    assert entries(files) == [(0, 0), (3, 120)]
    assert read_whole(files, f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n2\n0 0\n3 120\n"


def test_assigned_epoch_is_not_written_again() -> None:
    files = directory()
    file = epochs(files, (3, 120))
    before = files.script.write_points

    file.assign(3, 150)
    file.save()

    assert not file.has_unsaved
    assert files.script.write_points == before


def test_epochs_are_truncated_and_cleared_on_disk() -> None:
    files = directory()
    file = epochs(files, (0, 0), (1, 10), (2, 20))

    file.truncate_from_start(5)
    file.truncate_from_end(20)
    cut = file.current.entries
    file.clear()
    file.save()

    assert cut == (EpochEntry(LeaderEpoch(0), Offset(5)), EpochEntry(LeaderEpoch(1), Offset(10)))
    assert entries(files) == []


def test_epoch_found_in_the_log_is_assigned_if_it_is_later() -> None:
    files = directory()
    file = epochs(files, (0, 0), (1, 100), (3, 200))

    for epoch, offset in ((-1, 140), (1, 150), (3, 210), (4, 220)):
        file.assign_if_later(epoch, offset)
    file.save()

    assert entries(files) == [(0, 0), (1, 100), (3, 200), (4, 220)]


def test_first_epoch_found_in_the_log_is_assigned() -> None:
    files = directory()

    file = epochs(files)
    file.assign_if_later(0, 7)
    file.save()

    assert entries(files) == [(0, 7)]


def test_batch_without_an_epoch_assigns_none() -> None:
    files = directory()

    epochs(files).assign_if_later(-1, 7)

    assert files.list(DIRECTORY) == []


def test_damaged_file_is_an_error_with_its_remedy() -> None:
    files = directory()
    files.create(f"{DIRECTORY}/leader-epoch-checkpoint").append(b"0\n1\nx y\n")

    with pytest.raises(DamagedFileError, match=r"/t-0/leader-epoch-checkpoint: .*remove the file"):
        LeaderEpochCheckpointFile(files, DIRECTORY).load()


def test_change_waits_for_a_save() -> None:
    files = directory()
    file = epochs(files, (0, 0))

    file.assign(3, 120)

    assert file.has_unsaved
    assert entries(files) == [(0, 0)]


def test_epoch_that_is_assigned_again_needs_no_save() -> None:
    files = directory()
    epochs(files, (0, 0), (3, 120))
    file = LeaderEpochCheckpointFile(files, DIRECTORY)
    file.load()

    file.truncate_from_end(120)
    removed = file.has_unsaved
    file.assign(3, 120)

    assert (removed, file.has_unsaved) == (True, False)


def test_save_counts_only_the_changes_before_it() -> None:
    files = directory()
    file = epochs(files, (0, 0))
    file.assign(3, 120)
    save = file.begin_save()
    assert save is not None

    file.assign(4, 130)
    save.run(files)
    file.finish_save(save)

    assert file.has_unsaved
    assert entries(files) == [(0, 0), (3, 120)]


def test_change_taken_back_during_a_save_is_saved_again() -> None:
    files = directory()
    file = epochs(files, (0, 0))
    file.assign(3, 120)
    save = file.begin_save()
    assert save is not None

    file.truncate_from_end(120)
    before = file.has_unsaved
    save.run(files)
    file.finish_save(save)

    assert (before, file.has_unsaved) == (False, True)
    file.save()
    assert entries(files) == [(0, 0)]


def test_epochs_that_could_not_be_saved_are_saved_the_next_time() -> None:
    files = directory()
    file = epochs(files, (0, 0))
    file.assign(3, 120)
    files.script.add(FileFault(on="append", path="*.tmp", code=errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        file.save()

    file.save()

    assert entries(files) == [(0, 0), (3, 120)]
