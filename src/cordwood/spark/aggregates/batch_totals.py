"""Totals of the batches in a split, from headers, or from records as well.

A batch belongs to the split with its base offset, so a batch that two splits share is counted once.
Only segments have totals, because brokers do not report how batches are stored.
"""

from cordwood.core.ports import Files
from cordwood.records.batch_checks import BatchChecker
from cordwood.spark.source.coverage import PartitionDirectory
from cordwood.spark.source.directory_offsets import open_log
from cordwood.spark.source.splits import Split
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.reader_segment import with_location
from cordwood.storage.reader.segment_walk import SegmentBatchRun
from cordwood.workbench.log_statistics import LogCounter
from cordwood.workbench.segment_walk import SweptRange


def sum_split(files: Files, split: Split, *, checker: BatchChecker, is_deep: bool) -> LogCounter:
    """Return the totals of a split; an error for damage has file and position."""
    assert isinstance(split.source, PartitionDirectory), "brokers send no batches as stored"
    counting = LogCounter(is_deep=is_deep)
    with open_log(files, split.source.path) as reader:
        for run in reader.buffers(split.range.start, split.range.end):
            first, last = _edges(run, split)
            if first == last:
                continue
            data, position = run.data[first:last], run.position + first
            swept = checker.survey(data, counting.survey, is_deep=is_deep)
            if swept.fault is not None:
                raise with_location(swept.fault, run.path, shift=position)
            counting.add(SweptRange(position, position + len(data), data, swept), run.path)
            counting.segments += position == 0
            counting.size += len(data)
    return counting


def _edges(run: SegmentBatchRun, split: Split) -> tuple[int, int]:
    """Return the bytes of a run with the batches that belong to the split."""
    _, start, end = split.range
    if start <= run.first_offset and run.next_offset <= end:
        return 0, len(run.data)
    found = headers(lambda length, at: run.data[at : at + length], 0, len(run.data))
    inside = [each for each in found if start <= each.base_offset < end]
    return (inside[0].position, inside[-1].end) if inside else (0, 0)
