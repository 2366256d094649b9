"""Gaps: requested offsets that no source has, and the policies of the option `gap`.

    fail      the read fails, before any task begins if the gap is known by then
    record    each gap becomes a row of a Parquet table, and the read continues after it
    refill    the log directories of `refillPath` supply the offsets; offsets missing there fail,
              and so does a copy of a topic that was deleted and created again

A gap may be found twice, when a task or a plan is retried, or by two reads. Its offsets are
recorded once, because each row has its own file, whose name contains the offsets; only two reads
that record overlapping gaps at the same moment can record an offset twice. Offsets removed by
compaction are not gaps.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from cordwood.core.ports import Files
from cordwood.spark.runtime.local_path import is_address
from cordwood.spark.source.coverage import NO_IDS, AvailableRange, OffsetRange, PlannedRead, cover
from cordwood.spark.source.directory_offsets import find_directories
from cordwood.spark.source.source_options import SourceOptions, TopicChoice

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first_offset", pa.int64()),
        ("end_offset", pa.int64()),
    ]
)

_REMEDY: Final = (
    "they were deleted or are not written yet: change the starting or ending offsets, set"
    " gap=refill and a refillPath that has them, or set gap=record and a gapTable"
)


def resolve_gaps(
    files: Files,
    gaps: Sequence[OffsetRange],
    *,
    options: SourceOptions,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> list[PlannedRead]:
    """Apply the gap policy; return the reads that replace the gaps.

    `topic_ids` are the known ids of the topics with gaps.
    """
    reads, left = refill_gaps(files, gaps, options=options, topic_ids=topic_ids)
    if left and options.gap == "record":
        assert options.gap_table is not None, "parse_options has checked it"
        record_gaps(left, options.gap_table)
    elif left:
        raise OffsetOutOfRangeError(f"no source has {', '.join(map(str, left))}; {_REMEDY}")
    return reads


def refill_gaps(
    files: Files,
    gaps: Iterable[OffsetRange],
    *,
    options: SourceOptions,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> tuple[list[PlannedRead], list[OffsetRange]]:
    """Return the reads from `refillPath` that fill gaps, and the gaps that remain."""
    reads, left = [], list[OffsetRange]()
    for gap in gaps:
        found, missing = cover(gap, _refill_ranges(files, gap, options, topic_ids=topic_ids))
        reads += found
        left += missing
    return reads, left


def record_gaps(gaps: Iterable[OffsetRange], folder: str) -> None:
    """Write one file per gap into the table's folder, a path or a URI."""
    system, path = (
        pafs.FileSystem.from_uri(folder) if is_address(folder) else (pafs.LocalFileSystem(), folder)
    )
    system.create_dir(path)
    for gap in _unrecorded(gaps, system, path):
        (topic, partition), start, end = gap
        row = {"topic": topic, "partition": partition, "first_offset": start, "end_offset": end}
        table = pa.Table.from_pylist([row], schema=SCHEMA)
        name = f"{gap.partition}-{start}-{end}.parquet"
        pq.write_table(table, f"{path}/_{name}", filesystem=system)
        system.move(f"{path}/_{name}", f"{path}/{name}")


def _unrecorded(
    gaps: Iterable[OffsetRange], system: pafs.FileSystem, path: str
) -> Iterator[OffsetRange]:
    """Yield the parts of gaps that the table does not have."""
    names = [info.base_name for info in system.get_file_info(pafs.FileSelector(path))]
    for gap in gaps:
        form = re.compile(rf"{re.escape(str(gap.partition))}-(\d+)-(\d+)\.parquet")
        spans = sorted(
            (int(found[1]), int(found[2])) for found in map(form.fullmatch, names) if found
        )
        at = gap.start
        for start, end in spans:
            if at < min(start, gap.end):
                yield gap._replace(start=at, end=min(start, gap.end))
            at = max(at, end)
        if at < gap.end:
            yield gap._replace(start=at)


def _refill_ranges(
    files: Files, gap: OffsetRange, options: SourceOptions, *, topic_ids: Mapping[str, str]
) -> Sequence[AvailableRange]:
    """Return the ranges that `refillPath` has of a gap's partition."""
    if options.refill_path is None:
        return ()
    found = find_directories(
        files,
        options.refill_path,
        choice=TopicChoice(assigned=frozenset({gap.partition})),
        is_committed=options.is_committed,
        is_to_log_end=options.is_to_log_end,
    )
    identity = found.topic_ids().get(gap.partition)
    topic = gap.partition.topic
    if identity is not None and topic_ids.get(topic, identity.topic_id) != identity.topic_id:
        raise InconsistentTopicIdError(
            f"{identity.reported_by}: another topic {topic} than the one that lacks {gap} "
            f"(expected {topic_ids[topic]}, found {identity.topic_id}); set refillPath to a copy "
            "of this topic"
        )
    return found.available([gap.partition]).get(gap.partition, ())
