"""Leader epoch cache of one log with its file (Kafka: `LeaderEpochCheckpointFile`).

A change takes effect in memory at once. The file is written behind it, off the owner's thread:

    begin_save     on the owner's thread: the entries to write, as a value
    EpochSave.run  on any thread: writes them atomically
    finish_save    on the owner's thread: the file has these entries now

An older file is repaired when the log is loaded after a crash: entries beyond the log are removed,
and recovery assigns the epochs of the batches that it reads. So the file must be saved before the
recovery point passes the start of an epoch, and before a record of a new epoch is acknowledged.
"""

from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset
from cordwood.storage.checkpoints.checkpoint_files import (
    LEADER_EPOCHS,
    read_epoch_checkpoint,
    write_epoch_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry, LeaderEpochCache

_NEVER: Final = -1


class EpochSave(NamedTuple):
    """The content of a file to be written."""

    path: str
    entries: tuple[EpochEntry, ...]

    def run(self, files: Files) -> None:
        """Write the file atomically and durably."""
        write_epoch_checkpoint(files, self.path, entries=self.entries)


class LeaderEpochCheckpointFile:
    """The epochs of one log. The owner replaces `directory` when it renames the directory."""

    __slots__ = ("_changes", "_compared", "_files", "_saved", "current", "directory")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self.directory = directory
        self.current = LeaderEpochCache()
        self._saved: tuple[EpochEntry, ...] = ()
        self._changes = self._compared = 0

    @property
    def path(self) -> str:
        return f"{self.directory}/{LEADER_EPOCHS}"

    @property
    def has_unsaved(self) -> bool:
        """Whether the file has other entries."""
        # Called for each append: the entries are compared only after a change.
        if self._compared != self._changes and self.current.entries == self._saved:
            self._compared = self._changes
        return self._compared != self._changes

    def load(self) -> None:
        """Read the file; a log without one has no epochs."""
        self.current = LeaderEpochCache(read_epoch_checkpoint(self._files, self.path))
        self._saved = self.current.entries

    def assign(self, epoch: int, start_offset: int) -> None:
        """Assign an epoch to the records from `start_offset` on."""
        self._changes += self.current.assign(LeaderEpoch(epoch), Offset(start_offset))

    def assign_if_later(self, epoch: int, start_offset: int) -> None:
        """Assign an epoch that is found in the log, if it is later than all others."""
        # The start offset of an earlier epoch is known, and may be below the batch that was found.
        latest = self.current.latest
        if epoch > (NO_LEADER_EPOCH if latest is None else latest.epoch):
            self.assign(epoch, start_offset)

    def truncate_from_start(self, offset: int) -> None:
        self._changes += self.current.truncate_from_start(Offset(offset))

    def truncate_from_end(self, offset: int) -> None:
        self._changes += self.current.truncate_from_end(Offset(offset))

    def clear(self) -> None:
        self._changes += self.current.clear()

    def begin_save(self) -> EpochSave | None:
        """Return what the file lacks, None if it lacks nothing."""
        if not self.has_unsaved:
            return None
        return EpochSave(self.path, self.current.entries)

    def finish_save(self, save: EpochSave) -> None:
        """Record the entries that the file has now."""
        self._saved = save.entries
        self._compared = _NEVER

    def save(self) -> None:
        """Write the file before returning, if it lacks a change."""
        save = self.begin_save()
        if save is not None:
            save.run(self._files)
            self.finish_save(save)
