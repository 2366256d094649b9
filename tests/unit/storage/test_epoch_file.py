"""A log's epochs are on disk before a record of a new one is."""

import errno

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.atomic import read_whole
from cordwood.storage.epoch_file import EpochFile
from cordwood.storage.epochs import EpochEntry
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles

DIRECTORY = "/t-0"


def directory() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    return files


def epochs(files: MemoryFiles, *entries: tuple[int, int]) -> EpochFile:
    """Return the file with these epochs in it."""
    file = EpochFile(files, DIRECTORY)
    for epoch, start_offset in entries:
        file.assign(epoch, start_offset)
    return file


def entries(files: MemoryFiles) -> list[tuple[int, int]]:
    """Return what is on disk after a crash."""
    files.crash()
    file = EpochFile(files, DIRECTORY)
    file.load()
    return [(entry.epoch, entry.start_offset) for entry in file.known.entries]


def test_epochs_of_a_log_without_a_file_are_none() -> None:
    assert entries(directory()) == []


def test_epochs_survive_a_crash_once_they_are_assigned() -> None:
    files = directory()

    epochs(files, (0, 0), (3, 120))

    assert entries(files) == [(0, 0), (3, 120)]
    assert read_whole(files, f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n2\n0 0\n3 120\n"


def test_epoch_that_is_known_is_not_written_again() -> None:
    files = directory()
    file = epochs(files, (3, 120))
    before = files.script.write_points

    file.assign(3, 150)

    assert files.script.write_points == before


def test_epochs_are_cut_at_both_ends_and_forgotten_on_disk_too() -> None:
    files = directory()
    file = epochs(files, (0, 0), (1, 10), (2, 20))

    file.truncate_from_start(5)
    file.truncate_from_end(20)
    cut = file.known.entries
    file.clear()

    assert cut == (EpochEntry(LeaderEpoch(0), Offset(5)), EpochEntry(LeaderEpoch(1), Offset(10)))
    assert entries(files) == []


def test_epoch_that_is_learned_has_to_be_a_later_one() -> None:
    files = directory()
    file = epochs(files, (0, 0), (1, 100), (3, 200))

    for epoch, offset in ((-1, 140), (1, 150), (3, 210), (4, 220)):
        file.learn(epoch, offset)

    assert entries(files) == [(0, 0), (1, 100), (3, 200), (4, 220)]


def test_first_epoch_is_learned_whatever_it_is() -> None:
    files = directory()

    epochs(files).learn(0, 7)

    assert entries(files) == [(0, 7)]


def test_no_epoch_is_learned_from_a_batch_without_one() -> None:
    files = directory()

    epochs(files).learn(-1, 7)

    assert files.list(DIRECTORY) == []


def test_damaged_file_of_epochs_is_named_with_its_remedy() -> None:
    files = directory()
    files.create(f"{DIRECTORY}/leader-epoch-checkpoint").append(b"0\n1\nx y\n")

    with pytest.raises(DamagedFileError, match=r"/t-0/leader-epoch-checkpoint: .*remove the file"):
        EpochFile(files, DIRECTORY).load()


def test_epochs_that_could_not_be_written_are_written_the_next_time() -> None:
    files = directory()
    file = epochs(files, (0, 0))
    files.script.add(Fault(on="append", path="*.tmp", code=errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        file.assign(3, 120)

    file.assign(3, 120)

    assert entries(files) == [(0, 0), (3, 120)]
