"""Leader epoch cache of one log with its file (Kafka: `LeaderEpochCheckpointFile`).

The file is written at every change, and before the first record of a new epoch. So the start
offset of an epoch that a leader asks for later is right even after a crash.
"""

from cordwood.core.ports import Files
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset
from cordwood.storage.checkpoints.checkpoint_files import (
    LEADER_EPOCHS,
    read_epoch_checkpoint,
    write_epoch_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache


class LeaderEpochCheckpointFile:
    """The epochs of one log. The owner replaces `directory` when it renames the directory."""

    __slots__ = ("_files", "_is_behind", "current", "directory")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self.directory = directory
        self.current = LeaderEpochCache()
        self._is_behind = False

    @property
    def path(self) -> str:
        return f"{self.directory}/{LEADER_EPOCHS}"

    def load(self) -> None:
        """Read the file; a log without one has no epochs."""
        self.current = LeaderEpochCache(read_epoch_checkpoint(self._files, self.path))

    def assign(self, epoch: int, start_offset: int) -> None:
        """Assign an epoch to the records from `start_offset` on."""
        self._save(is_changed=self.current.assign(LeaderEpoch(epoch), Offset(start_offset)))

    def assign_if_later(self, epoch: int, start_offset: int) -> None:
        """Assign an epoch that is found in the log, if it is later than all others."""
        # The start offset of an earlier epoch is known, and may be below the batch that was found.
        latest = self.current.latest
        if epoch > (NO_LEADER_EPOCH if latest is None else latest.epoch):
            self.assign(epoch, start_offset)

    def truncate_from_start(self, offset: int) -> None:
        self._save(is_changed=self.current.truncate_from_start(Offset(offset)))

    def truncate_from_end(self, offset: int) -> None:
        self._save(is_changed=self.current.truncate_from_end(Offset(offset)))

    def clear(self) -> None:
        self._save(is_changed=self.current.clear())

    def _save(self, *, is_changed: bool) -> None:
        """Write the file if the epochs changed, or if an earlier write failed."""
        self._is_behind = self._is_behind or is_changed
        if self._is_behind:
            write_epoch_checkpoint(self._files, self.path, entries=self.current.entries)
            self._is_behind = False
