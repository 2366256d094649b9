"""A log's leader epochs together with their file, which is written whenever they change.

The file is on disk before a record of a new epoch is: a leader that asks later where the epoch
began gets the right answer even after a crash.
"""

from cordwood.core.ports import Files
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch, Offset
from cordwood.storage.checkpoints import (
    LEADER_EPOCHS,
    read_epoch_checkpoint,
    write_epoch_checkpoint,
)
from cordwood.storage.epochs import LeaderEpochs


class EpochFile:
    """The epochs of one log; `directory` may be replaced when it is renamed."""

    __slots__ = ("_files", "_is_behind", "directory", "known")

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self.directory = directory
        self.known = LeaderEpochs()
        self._is_behind = False

    @property
    def path(self) -> str:
        return f"{self.directory}/{LEADER_EPOCHS}"

    def load(self) -> None:
        """Read the file; a log that has none has no epochs."""
        self.known = LeaderEpochs(read_epoch_checkpoint(self._files, self.path))

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that records from `start_offset` on are of this epoch."""
        self._save(is_changed=self.known.assign(LeaderEpoch(epoch), Offset(start_offset)))

    def learn(self, epoch: int, start_offset: int) -> None:
        """Note an epoch that is found in the log, if it is later than all known ones.

        Batches of an earlier one tell nothing: where it began is known, and may lie before them.
        """
        latest = self.known.latest
        if epoch > (NO_LEADER_EPOCH if latest is None else latest.epoch):
            self.assign(epoch, start_offset)

    def truncate_from_start(self, offset: int) -> None:
        self._save(is_changed=self.known.truncate_from_start(Offset(offset)))

    def truncate_from_end(self, offset: int) -> None:
        self._save(is_changed=self.known.truncate_from_end(Offset(offset)))

    def clear(self) -> None:
        self._save(is_changed=self.known.clear())

    def _save(self, *, is_changed: bool) -> None:
        """Write the file if it is to change, or was to and could not be written then."""
        self._is_behind = self._is_behind or is_changed
        if self._is_behind:
            write_epoch_checkpoint(self._files, self.path, entries=self.known.entries)
            self._is_behind = False
