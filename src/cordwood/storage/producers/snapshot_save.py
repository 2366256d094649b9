"""Producer snapshots to be written off the owner's thread (Kafka: `UnifiedLog.roll`, in part).

    begin_save         on the owner's thread: the snapshots to write, as a value
    SnapshotSave.run   on any thread: writes each one to a temporary file and syncs it
    finish_save        on the owner's thread: renames the files of snapshots that still exist

The owner renames: after a truncation or a deletion meanwhile, no file of a dropped snapshot may
appear. The names are durable with the next sync of the directory, in the flush that follows. A
crash before that leaves a temporary file, which the next start removes. An older snapshot and the
log after it replace the lost one.

At a roll, a `SnapshotTake` writes a snapshot of few producers under its own name: nothing changes
the log meanwhile.

A part of the entries is encoded and written at a time: in between, other threads can run.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from cordwood.core.binary import crc32c
from cordwood.core.ports import Files
from cordwood.storage.producers.producer_snapshot import (
    encode_entries,
    encode_header,
    encode_snapshot,
    initial_checksum,
)
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry

_STEP: Final = 1000

Entries = tuple[ProducerStateEntry, ...]


class UnsavedSnapshot(NamedTuple):
    """A snapshot in memory, and the name of its temporary file."""

    offset: int
    entries: Entries
    temporary: str


class SnapshotTake(NamedTuple):
    """A snapshot at a roll; without `entries` it stays in memory, and a former file is removed."""

    offset: int
    path: str
    entries: Entries | None

    def run(self, files: Files) -> None:
        """Write the file, unsynced; for any thread."""
        with suppress(FileNotFoundError):
            files.remove(self.path)
        if self.entries is None:
            return
        file = files.create(self.path)
        try:
            file.append(encode_snapshot(self.entries))
        finally:
            file.close()


class SnapshotSave(NamedTuple):
    """The snapshots to be written into a directory."""

    directory: str
    snapshots: tuple[UnsavedSnapshot, ...]

    def run(self, files: Files) -> None:
        """Write and sync the temporary files; OSError if one of them cannot be written."""
        for each in self.snapshots:
            _write(files, f"{self.directory}/{each.temporary}", each.entries)


def _write(files: Files, path: str, entries: Entries) -> None:
    file = files.create(path)
    try:
        file.append(encode_header(len(entries), 0))
        checksum = initial_checksum(len(entries))
        for start in range(0, len(entries), _STEP):
            part = encode_entries(entries[start : start + _STEP])
            checksum = crc32c(part, checksum)
            file.append(part)
        file.pwrite(encode_header(len(entries), checksum), 0)
        file.sync()
    finally:
        file.close()
