"""The plan of one pass over a log, as a value that can be sent to another process.

A pass rewrites whole segments, from the log's first one up to `end`. Records below `first_dirty`
were cleaned by earlier passes: they are looked up in the key map, and go if a dirty record has
their key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.core.types import TopicPartition
from cordwood.storage.log_config import LogConfig


class SourceSegment(NamedTuple):
    """A closed segment at the time of planning; `end_offset` is the next segment's base offset.

    The index sizes count the bytes of their entries. `modified_ms` is the modification time of the
    log file.
    """

    base_offset: int
    end_offset: int
    size: int
    index_size: int
    time_index_size: int
    modified_ms: int


class LastRecord(NamedTuple):
    """A producer's last data record, or its epoch if it has none (Kafka: `LastRecord`)."""

    producer_epoch: int
    last_data_offset: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningPlan:
    """A pass. Each group becomes one segment, named after the group's first.

    `last_records` are those of active producers, by producer id: their batches stay even if they
    become empty, so that the producers can continue. `legacy_horizon_ms` is the delete horizon of
    the old formats (`delete_horizon`). Records of `erased_keys` all go, the last one included.
    Records below `log_start` may be left in the first segments; no reader gets them.
    """

    partition: TopicPartition
    groups: tuple[tuple[SourceSegment, ...], ...]
    first_dirty: int
    end: int
    now_ms: int
    legacy_horizon_ms: int
    config: LogConfig
    last_records: Mapping[int, LastRecord] = field(default_factory=dict)
    erased_keys: frozenset[bytes] = frozenset()
    log_start: int = 0

    @property
    def segments(self) -> tuple[SourceSegment, ...]:
        """All segments that are rewritten, oldest first."""
        return tuple(segment for group in self.groups for segment in group)

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self.segments)
