"""The state of one log (Kafka: the fields of `UnifiedLog` and `LocalLog`).

The modules `log_append`, `log_read`, `segment_roll`, `truncation`, `log_flush` and `log_loader` act
on it; `log` combines them.

Only the owner's thread changes a log. Readers hold slices, which stay readable after a deletion; a
worker that syncs holds paths.
"""

from dataclasses import dataclass, field
from typing import Final

from cordwood.core.ports import Random
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.segment.log_segments import LogSegments

MAX_WARNINGS: Final = 100


class TornOnError:
    """A change of a log in progress. Every append has one: a generator would take longer."""

    __slots__ = ("_state", "_was_torn")

    def __init__(self, state: "LogState") -> None:
        self._state = state
        self._was_torn = state.is_torn

    def __enter__(self) -> None:
        self._state.is_torn = True

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            self._state.is_torn = self._was_torn


@dataclass(slots=True, kw_only=True)
class LogState:
    """The parts of a log. `config` is replaced as a whole when a setting changes.

    `unsynced_names` is set while a crash could undo the creation or renaming of a file.
    `unsynced_paths` are the files below the recovery point that have been written since their last
    fsync. `warnings` are anomalies that do not prevent the use of the log; only the first
    `MAX_WARNINGS` are kept. `unstable_from` limits the last stable offset while the producer state,
    before its rebuild, may take an open transaction for decided. `is_torn` is set when a change has
    failed half way: the log must not be used any more, and opening it again repairs it.
    """

    partition: TopicPartition
    directory: str
    table: OpenFileCache
    random: Random
    deletions: DelayedDeletions
    config: LogConfig
    segments: LogSegments
    bounds: OffsetBounds
    epochs: LeaderEpochCheckpointFile
    producers: ProducerStateManager
    snapshots: SnapshotFiles
    last_flush_ms: int
    unsynced_names: bool = False
    unsynced_paths: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    unstable_from: int | None = None
    is_torn: bool = False

    def torn_on_error(self) -> "TornOnError":
        """Wrap a change that must be done as a whole: an error in it leaves the log torn."""
        return TornOnError(self)

    def warn(self, *texts: str) -> None:
        """Keep messages for the operator, up to `MAX_WARNINGS` in all."""
        self.warnings += texts[: MAX_WARNINGS - len(self.warnings)]

    def update_first_unstable(self) -> None:
        """Set the first unstable offset to the start of the oldest undecided transaction."""
        unstable = self.producers.first_unstable_offset
        if self.unstable_from is not None:
            unstable = self.unstable_from
        bounds = self.bounds
        bounds.first_unstable = (
            None if unstable is None else type(bounds.log_start)(max(unstable, bounds.log_start))
        )
