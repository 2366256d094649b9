"""Progress of one batch, from the JSON of Spark's `StreamingQueryProgress`.

    orders batch 7: 3000 records, 360.0 kB in 0.42 s (7143 records/s), 1200 records 3.1 s behind

Records behind are counted in offsets: the ends of the sources less the end of the batch. Sources
of other formats in the same query count neither records nor lag.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import SettingError
from cordwood.core.types import TopicPartition
from cordwood.spark.stream.stream_offset import NO_OFFSETS, RESERVED, JsonObject, parse_offset
from cordwood.spark.stream.stream_report import parse_facts

#: A source of the progress: its report, the end of the batch, and its rows.
_Source: TypeAlias = tuple[JsonObject, JsonObject, int]


class PartitionProgress(NamedTuple):
    """The next offset of a partition, its lag in offsets, and the offsets that no source has."""

    position: int
    behind: int
    gap_offsets: int = 0


#: The partitions of a query whose sources are unknown.
NO_PARTITIONS: Final[Mapping[TopicPartition, PartitionProgress]] = MappingProxyType({})


class BatchProgress(NamedTuple):
    """The facts of a batch; `behind` offsets and milliseconds are those after it."""

    query: str
    batch: int
    records: int
    size: int
    duration_ms: int
    behind: int
    behind_ms: int
    gap_offsets: int
    failed_commits: int
    partitions: Mapping[TopicPartition, "PartitionProgress"] = NO_PARTITIONS


def parse_progress(progress: JsonObject) -> BatchProgress | None:
    """Return the progress of our sources; None if the query has none of them."""
    sources = list(_sources(progress))
    facts = [found for report, _, _ in sources if (found := parse_facts(report)) is not None]
    if not sources:
        return None
    durations = progress.get("durationMs")
    partitions = {
        each: found
        for report, end, _ in sources
        for each, found in _partitions(report, end).items()
    }
    return BatchProgress(
        query=str(progress.get("name") or progress.get("id")),
        batch=_number(progress.get("batchId")),
        records=sum(rows for _, _, rows in sources),
        size=sum(each.size for each in facts),
        duration_ms=_number(
            durations.get("triggerExecution") if isinstance(durations, Mapping) else 0
        ),
        behind=sum(each.behind for each in partitions.values()),
        behind_ms=max(each.behind_ms for each in facts),
        gap_offsets=sum(each.gap_offsets for each in facts),
        failed_commits=sum(each.failed_commits for each in facts),
        partitions=partitions,
    )


def progress_line(done: BatchProgress) -> str:
    """Return the line of a batch for a person."""
    seconds = done.duration_ms / 1000
    rate = round(done.records / seconds) if seconds else done.records
    line = (
        f"{done.query} batch {done.batch}: {done.records} records, {done.size / 1000:.1f} kB in "
        f"{seconds:.2f} s ({rate} records/s)"
    )
    if done.behind:
        line += f", {done.behind} records {done.behind_ms / 1000:.1f} s behind"
    if done.gap_offsets:
        line += f", {done.gap_offsets} offsets missing"
    if done.failed_commits:
        line += f", {done.failed_commits} commits of the group failed"
    return line


def _sources(progress: JsonObject) -> Iterator[_Source]:
    """Yield the sources whose report has the reserved key."""
    sources = progress.get("sources")
    for source in sources if isinstance(sources, list) else []:
        report, end = source.get("latestOffset"), source.get("endOffset")
        if isinstance(report, Mapping) and isinstance(end, Mapping) and RESERVED in report:
            yield report, end, _number(source.get("numInputRows"))


def _partitions(report: JsonObject, end: JsonObject) -> Mapping[TopicPartition, PartitionProgress]:
    """Return the progress of the partitions that the sources have."""
    try:
        ends = parse_offset({name: each for name, each in report.items() if name != RESERVED})
        done = parse_offset(end)
    except SettingError:
        return NO_PARTITIONS
    facts = parse_facts(report)
    gaps = NO_OFFSETS if facts is None else facts.gaps
    found = {}
    for partition, last in ends.positions.items():
        position = done.positions.get(partition, 0)
        found[partition] = PartitionProgress(
            position, max(0, last - position), gaps.get(partition, 0)
        )
    return found


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
