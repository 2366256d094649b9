"""Holes: offsets that were asked for, and that no place has.

    fail      the reading ends, before any task begins if that can be known by then
    record    each hole is a row of a Parquet table, and the reading goes on behind it
    refill    the log directories of `refillPath` have them; what these have not either fails, and
              so does a copy of a topic that has since been made anew

A hole that is found twice, since a task or a plan was tried again, is told once: it has a file of
its own in the table's folder, and the file's name says which it is. What a cleaner has taken away
is no hole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from cordwood.core.ports import Files
from cordwood.spark.holdings import NO_IDS, Holding, Piece, Range, cover
from cordwood.spark.local_paths import local_path
from cordwood.spark.options import SourceOptions, TopicChoice
from cordwood.spark.segments import find_directories

SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first_offset", pa.int64()),
        ("end_offset", pa.int64()),
    ]
)

_REMEDY: Final = (
    "they are older than what is kept, or not there yet: begin later or end sooner, give a"
    " refillPath that has them and gap = refill, or gap = record and a gapTable"
)


def close_holes(
    files: Files,
    holes: Sequence[Range],
    *,
    options: SourceOptions,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> list[Piece]:
    """Do with holes as the options say; return what is read in their place.

    `topic_ids` are those of the topics that have the holes, as far as they are known.
    """
    pieces, left = refill(files, holes, options=options, topic_ids=topic_ids)
    if left and options.gap == "record":
        assert options.gap_table is not None, "the options have been looked at"
        record_holes(left, options.gap_table)
    elif left:
        raise OffsetOutOfRangeError(f"nothing has {' nor '.join(map(str, left))}; {_REMEDY}")
    return pieces


def refill(
    files: Files,
    holes: Iterable[Range],
    *,
    options: SourceOptions,
    topic_ids: Mapping[str, str] = NO_IDS,
) -> tuple[list[Piece], list[Range]]:
    """Return what the place for refilling has of holes, and what is left of them."""
    pieces, left = [], list[Range]()
    for hole in holes:
        found, missing = cover(hole, _spare(files, hole, options, topic_ids=topic_ids))
        pieces += found
        left += missing
    return pieces, left


def record_holes(holes: Iterable[Range], folder: str) -> None:
    """Write a file for each hole into the table's folder, which may have an address."""
    system, path = (
        pafs.FileSystem.from_uri(folder) if "://" in folder else (pafs.LocalFileSystem(), folder)
    )
    system.create_dir(path)
    for hole in holes:
        (topic, partition), start, end = hole
        row = {"topic": topic, "partition": partition, "first_offset": start, "end_offset": end}
        table = pa.Table.from_pylist([row], schema=SCHEMA)
        name = f"{hole.partition}-{start}-{end}.parquet"
        pq.write_table(table, f"{path}/_{name}", filesystem=system)
        system.move(f"{path}/_{name}", f"{path}/{name}")


def _spare(
    files: Files, hole: Range, options: SourceOptions, *, topic_ids: Mapping[str, str]
) -> Sequence[Holding]:
    """Return what the place for refilling has of a hole's partition."""
    if options.refill_path is None:
        return ()
    found = find_directories(
        files,
        [local_path(options.refill_path, key="refillPath")],
        choice=TopicChoice(assigned=frozenset({hole.partition})),
        is_committed=options.is_committed,
    )
    told = found.topic_ids().get(hole.partition)
    topic = hole.partition.topic
    if told is not None and topic_ids.get(topic, told.topic_id) != told.topic_id:
        raise InconsistentTopicIdError(
            f"{told.said_by} is of another topic {topic} than the one that lacks {hole}, "
            f"{told.topic_id} and not {topic_ids[topic]}; give a refillPath that has this one"
        )
    return found.held([hole.partition]).get(hole.partition, ())
