"""Ledger of a table: the offsets that it covers, stored in its commits.

Each commit to a table has two texts, as JSON, in the metadata of its format:

    ranges     the offsets that this commit adds: start, end (excluded), records and lost offsets
               of each partition
    standing   the state after this commit: the offsets of all commits together, the table's
               layout, and the ids of its topics

A commit must begin where the table ends, in each partition: an earlier start would repeat offsets,
a later one would skip them. `apply_commit` is this rule; each commit attempt calls it with the
table's current state. Offsets without a record for the table (transaction markers, records of
aborted transactions, offsets removed by compaction) are part of the ranges. Offsets that retention
deleted before the export are part of them too, and are counted as `lost`, if the user has allowed
this with `gap=record`.

A topic that was deleted and created again has another id, and its offsets start at 0: its records
do not continue the table. If the table or the log has no topic id, only the names are compared.

A failover can truncate records after their export, and other records get their offsets, in a later
leader epoch. So the state has a leader epoch per partition that no exported record exceeds. If a
later one begins in the log below the table's end, the table has records that the log has lost.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import NO_IDS

#: Keys of the two texts, in the commits of all formats.
RANGES_KEY: Final = "cordwood.ranges"
STATE_KEY: Final = "cordwood.standing"

#: Leader epochs of a log in an old format, which has none.
NO_EPOCHS: Final[Mapping[TopicPartition, int]] = MappingProxyType({})

_FORMAT: Final = 1
_ANOTHER_TOPIC: Final = (
    "the topic was deleted and created again, or is of another cluster; use another table"
)
_TRUNCATED: Final = (
    "restore the table to a version that ends there at most, or export into another table"
)
_RESUME: Final = "remove the starting options: an export resumes at the end of the table"


class CommitRange(NamedTuple):
    """The offsets of a partition that one commit adds, `end` excluded.

    The first `lost` of them were deleted from the log before the export.
    """

    partition: TopicPartition
    start: int
    end: int
    records: int = 0
    lost: int = 0


class ExportedOffsets(NamedTuple):
    """The offsets of a partition that a table covers, `end` excluded."""

    start: int
    end: int
    records: int = 0
    lost: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """The columns and partitioning of a table; the first commit fixes them."""

    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    is_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The layout of a table, and the offsets that it covers."""

    layout: TableLayout
    exported: Mapping[TopicPartition, ExportedOffsets]
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)


def check_leader_epochs(
    state: TableState, truncated_at: Mapping[TopicPartition, int], *, table: str
) -> None:
    """Reject a log in which records of a later leader epoch begin below the table's end."""
    for partition, offset in sorted(truncated_at.items()):
        exported = state.exported.get(partition)
        if exported is not None and offset < exported.end:
            raise TableError(
                f"{partition}: the log was truncated to offset {offset} after the export, and has"
                f" other records there (table: up to {exported.end - 1}, leader epoch"
                f" {state.leader_epochs.get(partition)})",
                path=table,
                remedy=_TRUNCATED,
            )


def add_leader_epochs(state: TableState, epochs: Mapping[TopicPartition, int]) -> TableState:
    """Return a state with these leader epochs, or the later ones that it has."""
    known = state.leader_epochs
    later = {each: max(epoch, known.get(each, epoch)) for each, epoch in epochs.items()}
    return replace(state, leader_epochs={**known, **later})


def check_topics(state: TableState, topic_ids: Mapping[str, str], *, table: str) -> None:
    """Reject the records of another topic with the name of the table's topic."""
    for topic, topic_id in sorted(topic_ids.items()):
        known = state.topic_ids.get(topic, topic_id)
        if known != topic_id:
            raise TableError(
                f"topic {topic} has another id (table: {known}, log: {topic_id})",
                path=table,
                remedy=_ANOTHER_TOPIC,
            )


def check_layout(state: TableState, layout: TableLayout, *, table: str) -> None:
    """Reject rows with another layout than the table's."""
    for name in TableLayout.__slots__:
        existing, requested = getattr(state.layout, name), getattr(layout, name)
        if existing != requested:
            raise TableError(
                f"{name} differs (table: {_shown(existing)}, export: {_shown(requested)})",
                path=table,
                remedy="use the options of the table, or export into another table",
            )


def check_start(state: TableState, partition: TopicPartition, *, start: int, table: str) -> None:
    """Reject offsets that do not begin at the table's end; a new partition begins anywhere."""
    exported = state.exported.get(partition)
    if exported is None or start == exported.end:
        return
    if start < exported.end:
        problem = f"offsets {start} to {exported.end - 1} of {partition} would be duplicated"
    else:
        problem = f"offsets {exported.end} to {start - 1} of {partition} would be missing"
    raise TableError(
        f"{problem} (the table ends at offset {exported.end})", path=table, remedy=_RESUME
    )


def apply_commit(
    state: TableState,
    ranges: Iterable[CommitRange],
    *,
    layout: TableLayout,
    table: str,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> TableState:
    """Return the state of a table after a commit; raise TableError for repeated or skipped offsets.

    `layout` is that of the added rows, `topic_ids` are those of their topics.
    """
    check_layout(state, layout, table=table)
    check_topics(state, topic_ids, table=table)
    exported = dict(state.exported)
    for each in ranges:
        check_start(state, each.partition, start=each.start, table=table)
        before = exported.get(each.partition, ExportedOffsets(each.start, each.start))
        exported[each.partition] = _extend(before, each)
    known = {**state.topic_ids, **topic_ids}
    return replace(state, layout=layout, exported=exported, topic_ids=known)


def empty_state(layout: TableLayout) -> TableState:
    """Return the state of a table without commits."""
    return TableState(layout=layout, exported={})


def commit_metadata(ranges: Sequence[CommitRange], after: TableState) -> dict[str, str]:
    """Return the two texts of a commit, by their keys."""
    return {RANGES_KEY: _format_ranges(ranges), STATE_KEY: format_state(after)}


def _extend(before: ExportedOffsets, added: CommitRange) -> ExportedOffsets:
    lost = before.lost
    if added.lost:
        lost = (*lost, (added.start, added.start + added.lost))
    return ExportedOffsets(before.start, added.end, before.records + added.records, lost)


# -- as text


def _format_ranges(ranges: Sequence[CommitRange]) -> str:
    """Return the text of the ranges of a commit."""
    return _text({str(each.partition): each[1:] for each in ranges})


def parse_ranges(text: str, *, table: str) -> list[CommitRange]:
    """Parse the ranges of a commit; raise TableError if they are not readable."""
    try:
        return [CommitRange(_partition(name), *each) for name, each in json.loads(text).items()]
    except (ValueError, TypeError, AttributeError) as error:
        raise _unreadable(f"{type(error).__name__} {error}", table, key=RANGES_KEY) from error


def format_state(state: TableState) -> str:
    """Return the text of a state; `parse_state` is the inverse."""
    layout = state.layout
    return _text(
        {
            "format": _FORMAT,
            "columns": layout.columns,
            "partition_by": layout.partition_by,
            "is_committed": layout.is_committed,
            "partitions": {str(partition): each for partition, each in state.exported.items()},
            "topic_ids": state.topic_ids,
            "leader_epochs": {str(each): epoch for each, epoch in state.leader_epochs.items()},
        }
    )


def parse_state(text: str, *, table: str) -> TableState:
    """Parse the state in a table's newest commit; raise TableError if it is not readable."""
    try:
        parsed = json.loads(text)
        if parsed["format"] != _FORMAT:
            raise _unreadable(f"unknown format {parsed['format']}", table)
        layout = TableLayout(
            columns=tuple(parsed["columns"]),
            partition_by=tuple(parsed["partition_by"]),
            is_committed=bool(parsed["is_committed"]),
        )
        exported = {
            _partition(name): _exported(*each) for name, each in parsed["partitions"].items()
        }
        topic_ids = {str(name): str(each) for name, each in parsed.get("topic_ids", {}).items()}
        epochs = {
            _partition(name): int(each) for name, each in parsed.get("leader_epochs", {}).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(f"{type(error).__name__} {error}", table) from error
    return TableState(layout=layout, exported=exported, topic_ids=topic_ids, leader_epochs=epochs)


def _unreadable(problem: str, table: str, *, key: str = STATE_KEY) -> TableError:
    return TableError(
        f"{key} cannot be read ({problem})",
        path=table,
        remedy="use the version that wrote the table, or export into another table",
    )


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(TopicName(topic), PartitionId(int(number)))


def _exported(start: int, end: int, records: int, lost: list[list[int]]) -> ExportedOffsets:
    return ExportedOffsets(start, end, records, tuple((first, after) for first, after in lost))


def _shown(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
