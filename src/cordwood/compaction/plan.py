"""What one pass over a log is to do, as a value: it can be sent to another process.

A pass works on whole segments, from the log's first one up to `end`. What lies below `first_dirty`
has been cleaned before: its records are looked up, and go if a later one has their key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.core.types import TopicPartition
from cordwood.storage.log_config import LogConfig


class SourceSegment(NamedTuple):
    """A closed segment as it was when the pass was planned; `end_offset` is the next one's base.

    The index sizes are those of their entries. `modified_ms` is the log file's.
    """

    base_offset: int
    end_offset: int
    size: int
    index_size: int
    time_index_size: int
    modified_ms: int


class LastBatch(NamedTuple):
    """What a producer's last batch is known by: its last offset; without one, the epoch."""

    producer_epoch: int
    last_data_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningPlan:
    """A pass. Each group becomes one segment, named for the group's first.

    `last_batches` are kept even if nothing is left in them, so that their producers can go on.
    `legacy_horizon_ms`: tombstones of old formats stay in segments that were changed after it.
    Records of `erased_keys` go wherever they are, the last one included.
    """

    partition: TopicPartition
    groups: tuple[tuple[SourceSegment, ...], ...]
    first_dirty: int
    end: int
    now_ms: int
    legacy_horizon_ms: int
    config: LogConfig
    last_batches: Mapping[int, LastBatch] = field(default_factory=dict)
    erased_keys: frozenset[bytes] = frozenset()

    @property
    def segments(self) -> tuple[SourceSegment, ...]:
        """All segments that are rewritten, oldest first."""
        return tuple(segment for group in self.groups for segment in group)

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self.segments)

    @property
    def delete_horizon_ms(self) -> int:
        """When what this pass first finds to be a tombstone, or an idle marker, may go."""
        return self.now_ms + self.config.delete_retention_ms
