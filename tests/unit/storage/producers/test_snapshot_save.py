"""Snapshots of many producers are written by a job, in parts."""

import errno

import pytest

from cordwood.core.ports import FileKind
from cordwood.storage.producers.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.storage.producers.snapshot_save import SnapshotSave, UnsavedSnapshot
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

DIRECTORY = "/orders-0"


def entries(count: int) -> tuple[ProducerStateEntry, ...]:
    return tuple(
        ProducerStateEntry(each, 1, (BatchMetadata(5, each, 0, 1000),), last_timestamp=1000)
        for each in range(count)
    )


def files() -> MemoryFiles:
    found = MemoryFiles()
    found.make_directory(DIRECTORY)
    return found


def content(stored: MemoryFiles, name: str) -> bytes:
    file = stored.open(f"{DIRECTORY}/{name}")
    return file.pread(file.size, 0)


@pytest.mark.parametrize("count", (0, 1, 999, 1000, 1001, 2500))
def test_save_in_parts_writes_the_bytes_of_the_whole_snapshot(count: int) -> None:
    stored, states = files(), entries(count)

    SnapshotSave(DIRECTORY, (UnsavedSnapshot(7, states, "a.tmp"),)).run(stored)

    assert content(stored, "a.tmp") == encode_snapshot(states)
    assert decode_snapshot(content(stored, "a.tmp"), path="a.tmp") == list(states)


def test_save_writes_all_snapshots_and_syncs_them() -> None:
    stored = files()
    stored.sync_directory("/")
    snapshots = (UnsavedSnapshot(7, entries(1), "a.tmp"), UnsavedSnapshot(9, entries(2), "b.tmp"))

    SnapshotSave(DIRECTORY, snapshots).run(stored)
    stored.sync_directory(DIRECTORY)
    stored.crash()

    assert [len(content(stored, name)) for name in ("a.tmp", "b.tmp")] == [56, 102]


def test_save_raises_when_the_disk_is_full() -> None:
    stored = files()
    stored.script.add(FileFault(on="append", path="*.tmp", code=errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        SnapshotSave(DIRECTORY, (UnsavedSnapshot(7, entries(1), "a.tmp"),)).run(stored)

    assert stored.list(DIRECTORY, FileKind.FILE) == ["a.tmp"]
