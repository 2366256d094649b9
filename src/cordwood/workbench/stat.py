"""Statistics of logs, from batch headers alone or from every record.

Checksums are not verified; `verify` does that. Bytes that cannot be a batch are counted and
skipped. Records inside v0 and v1 wrappers are counted only by deep statistics, which decompress
them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files
from cordwood.records.batch_checks import BatchChecker, CheckedBatches, PlainBatchChecker
from cordwood.storage.files.file_names import LOG
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.workbench.log_statistics import LogCounter, LogStat, build_stat
from cordwood.workbench.partition_paths import PartitionTarget, find_targets
from cordwood.workbench.segment_walk import BrokenRange, SegmentLogFile, walk_segment


def stat(
    files: Files,
    paths: Iterable[str],
    *,
    topics: Collection[str] = (),
    is_deep: bool = False,
    checker: BatchChecker | None = None,
    on_bytes: Callable[[int], object] = lambda _size: None,
) -> LogStat:
    """Return the statistics of the logs at some paths, of these topics alone if some are given.

    LogDirectoryError if there is no log, or none of a topic.
    """
    counted = []
    for target in _targets(files, tuple(paths), topics):

        def count(target: PartitionTarget = target) -> LogCounter:
            counter = LogCounter(is_deep=is_deep)
            _count(target, counter, checker or PlainBatchChecker(), on_bytes)
            return counter

        counted.append((target.reader.source.path, target.reader.retry_on_change(count)))
        target.reader.close()
    return build_stat(counted, is_deep=is_deep)


def _targets(
    files: Files, paths: Sequence[str], topics: Collection[str]
) -> Iterator[PartitionTarget]:
    """Yield the partitions at some paths that are of the topics."""
    seen: set[str] = set()
    for target in (each for path in paths for each in find_targets(files, path)):
        partition = partition_of(target.reader.source.path)
        if not topics or (partition is not None and partition.topic in topics):
            seen.add("" if partition is None else partition.topic)
            yield target
    missing = sorted(set(topics) - seen)
    if missing:
        raise LogDirectoryError(
            f"has no partition of topic {', '.join(missing)}",
            path=", ".join(paths),
            remedy="check the name of the topic",
        )


def _count(
    target: PartitionTarget,
    counter: LogCounter,
    checker: BatchChecker,
    on_bytes: Callable[[int], object],
) -> None:
    reader = target.reader
    survey = partial(checker.survey, survey=counter.survey, is_deep=counter.is_deep)

    def sweep(data: memoryview) -> CheckedBatches:
        return survey(data)

    for listed in reader.list_segments():
        if target.only not in (None, listed.base_offset):
            continue
        name = listed.name(LOG)
        file = SegmentLogFile(reader.source, name, reader.source.stat(name).size, on_bytes)
        counter.segments += 1
        counter.size += file.size
        for part in walk_segment(file, sweep):
            if isinstance(part, BrokenRange):
                counter.skipped += part.end - part.position
            else:
                counter.add(part, file.path)
