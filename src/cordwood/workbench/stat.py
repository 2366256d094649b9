"""Statistics of logs, from batch headers alone or from every record.

Checksums are not verified; `verify` does that. Bytes that cannot be a batch are counted and
skipped. Records inside v0 and v1 wrappers are counted only by deep statistics, which decompress
them.
"""

from collections.abc import Callable, Iterable
from functools import partial

from cordwood.core.ports import Files
from cordwood.records.batch_checks import BatchChecker, CheckedBatches, PlainBatchChecker
from cordwood.storage.files.file_names import LOG
from cordwood.workbench.log_statistics import LogCounter, LogStat, build_stat
from cordwood.workbench.partition_paths import PartitionTarget, find_targets
from cordwood.workbench.segment_walk import BrokenRange, SegmentLogFile, walk_segment


def stat(
    files: Files,
    paths: Iterable[str],
    *,
    is_deep: bool = False,
    checker: BatchChecker | None = None,
    on_bytes: Callable[[int], object] = lambda _size: None,
) -> LogStat:
    """Return the statistics of the logs at some paths; LogDirectoryError if there is no log."""
    counted = []
    for target in (each for path in paths for each in find_targets(files, path)):

        def count(target: PartitionTarget = target) -> LogCounter:
            counter = LogCounter(is_deep=is_deep)
            _count(target, counter, checker or PlainBatchChecker(), on_bytes)
            return counter

        counted.append((target.reader.source.path, target.reader.retry_on_change(count)))
        target.reader.close()
    return build_stat(counted, is_deep=is_deep)


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
