"""What one log is made of. The rules that act on it live beside: `appending`, `reading`, `rolling`,
`truncating`, `flushing`, `loading`; `log` puts them together.

One thread, the owner's, changes a log. Readers hold slices, which stay readable; a worker that
syncs holds paths.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

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

MOST_WARNINGS: Final = 100


@dataclass(slots=True, kw_only=True)
class LogState:
    """The parts, each true by itself. `config` is replaced as a whole when a setting changes.

    `unsynced_names` says that files have been made or renamed whose names a crash could undo, and
    `unsynced_paths` are files below the recovery point that have been written anew. `warnings` say
    what was strange in the log and did not keep it from being used; only the first ones are kept.
    `is_torn` once a change has failed of which a part was done: then the log is not to be used any
    more, and opening it again puts it right.
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
    warnings: list[str] = field(default_factory=list)
    is_torn: bool = False

    @contextmanager
    def as_a_whole(self) -> Iterator[None]:
        """Do what has to be done to its end: an error in it leaves the log torn."""
        was_torn = self.is_torn
        self.is_torn = True
        yield
        self.is_torn = was_torn

    def warn(self, *texts: str) -> None:
        """Keep what an operator should know."""
        self.warnings += texts[: MOST_WARNINGS - len(self.warnings)]

    def settle_unstable(self) -> None:
        """Let the bounds know where the oldest undecided transaction begins."""
        unstable = self.producers.first_unstable_offset
        bounds = self.bounds
        bounds.first_unstable = (
            None if unstable is None else type(bounds.log_start)(max(unstable, bounds.log_start))
        )
