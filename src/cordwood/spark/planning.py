"""A reading from its options to splits: what the driver does, once, before any task begins.

places ──► what each has ──► ranges ──► pieces ──► splits
           of which          in offsets  one place   by bytes, where
           partitions                    each        they are known
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.bounds import (
    Extent,
    ensure_known,
    extent_of,
    narrowed,
    resolve,
    topic_ids_of,
)
from cordwood.spark.brokers import asked_brokers
from cordwood.spark.gaps import close_holes
from cordwood.spark.holdings import NO_IDS, Holding, Piece, Place, Range, cover
from cordwood.spark.local_paths import local_path
from cordwood.spark.options import SourceOptions
from cordwood.spark.segments import find_directories, open_log
from cordwood.spark.splits import Split, cut_into, cut_log, cut_range, limit_records


class Plan(NamedTuple):
    """What is read, of what there is of each partition, as of one moment."""

    extents: Mapping[TopicPartition, Extent]
    ranges: Mapping[TopicPartition, Range]
    splits: list[Split]
    topic_ids: Mapping[str, str] = NO_IDS


def plan(options: SourceOptions) -> list[Split]:
    """Return what there is to read, cut into splits of much the same size."""
    return whole_plan(options).splits


def whole_plan(options: SourceOptions, *, is_open: bool = False) -> Plan:
    """Return the splits with what they were made of; holes stay open for who tells of them."""
    files = SystemFiles()
    with _places(files, options) as places:
        topics = {name for place in places for name in place.topics()}
        partitions = {each for place in places for each in place.partitions()}
        ensure_known(options, topics=topics, partitions=partitions)
        wanted = set(filter(options.narrowing.has, partitions))
        topic_ids = topic_ids_of(places, wanted)
        held = _held(places, wanted)
        extents = {partition: extent_of(each) for partition, each in held.items()}
        ranges = narrowed(
            resolve(extents, options, places=places), options.narrowing, places=places
        )
    pieces: list[Piece] = []
    holes: list[Range] = []
    for each in ranges:
        found, missing = cover(each, held[each.partition])
        pieces += found
        holes += missing
    if not is_open:
        pieces += close_holes(files, holes, options=options, topic_ids=topic_ids)
        pieces.sort(key=lambda piece: piece.range)
    splits = split_pieces(files, pieces, options=options)
    return Plan(extents, {each.partition: each for each in ranges}, splits, topic_ids)


def split_pieces(files: Files, pieces: Sequence[Piece], *, options: SourceOptions) -> list[Split]:
    """Return the splits of pieces: as small as the options want them, and as many."""
    least = options.min_partitions or 0
    splits = _cut(files, pieces, options.split_bytes)
    if len(splits) < least:
        size = sum(split.size for split in splits)
        splits = cut_into(_cut(files, pieces, max(1, size // least)), least)
    return limit_records(splits, options.max_records) if options.max_records else splits


@contextmanager
def _places(files: Files, options: SourceOptions) -> Iterator[list[Place]]:
    """Give the places in the order in which they are preferred: segments cost a broker nothing."""
    with ExitStack() as opened:
        brokers = [opened.enter_context(asked_brokers(options))] if options.servers else []
        paths = [local_path(each, key="path") for each in options.paths]
        directories = find_directories(
            files, paths, choice=options.topics, is_committed=options.is_committed
        )
        yield [directories, *brokers]


def _held(
    places: Sequence[Place], wanted: Collection[TopicPartition]
) -> Mapping[TopicPartition, list[Holding]]:
    """Return what there is of each partition, in the order of the places."""
    found: dict[TopicPartition, list[Holding]] = {}
    for place in places:
        for partition, holdings in place.held(wanted).items():
            found.setdefault(partition, []).extend(holdings)
    return found


def _cut(files: Files, pieces: Sequence[Piece], split_bytes: int) -> list[Split]:
    splits: list[Split] = []
    for wanted, path in pieces:
        if path is None:
            splits += cut_range(wanted, split_bytes=split_bytes)
        else:
            with open_log(files, path) as reader:
                splits += cut_log(reader, wanted, split_bytes=split_bytes)
    return splits
