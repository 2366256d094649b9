"""What one log is made of. The rules that act on it live beside: `appending`, `reading`, `rolling`,
`truncating`, `flushing`, `loading`; `log` puts them together.

One thread, the owner's, changes a log. Readers hold slices, which stay readable; a worker that
syncs holds paths.
"""

from dataclasses import dataclass

from cordwood.core.ports import Random
from cordwood.core.types import TopicPartition
from cordwood.storage.bounds import OffsetBounds
from cordwood.storage.deletions import Deletions
from cordwood.storage.epoch_file import EpochFile
from cordwood.storage.file_table import FileTable
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers import ProducerStates
from cordwood.storage.segments import Segments
from cordwood.storage.snapshot_files import SnapshotFiles


@dataclass(slots=True, kw_only=True)
class LogState:
    """The parts, each true by itself. `config` is replaced as a whole when a setting changes.

    `unsynced_names` says that files have been made or renamed whose names a crash could undo, and
    `unsynced_paths` are files below the recovery point that have been written anew.
    """

    partition: TopicPartition
    directory: str
    table: FileTable
    random: Random
    deletions: Deletions
    config: LogConfig
    segments: Segments
    bounds: OffsetBounds
    epochs: EpochFile
    producers: ProducerStates
    snapshots: SnapshotFiles
    last_flush_ms: int
    unsynced_names: bool = False
    unsynced_paths: tuple[str, ...] = ()

    def settle_unstable(self) -> None:
        """Let the bounds know where the oldest undecided transaction begins."""
        unstable = self.producers.first_unstable_offset
        bounds = self.bounds
        bounds.first_unstable = (
            None if unstable is None else type(bounds.log_start)(max(unstable, bounds.log_start))
        )
