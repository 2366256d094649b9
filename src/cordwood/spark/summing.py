"""The numbers of a split's batches, by their headers or by their records too.

A batch counts where its header's offset lies, so that splits which were cut inside of it count it
once. What lies in segments is told alone: brokers do not say how it is stored.
"""

from cordwood.core.ports import Files
from cordwood.records.sweep import Sweeper
from cordwood.spark.segments import open_log
from cordwood.spark.splits import Split
from cordwood.storage.reader_segments import located
from cordwood.storage.reader_walk import BatchRun
from cordwood.storage.scan import headers
from cordwood.workbench.log_sums import LogCounting
from cordwood.workbench.segment_walk import Stretch


def sum_split(files: Files, split: Split, *, sweeper: Sweeper, is_deep: bool) -> LogCounting:
    """Return the numbers of a split; damage raises, with file and position."""
    assert split.path is not None, "a split is in a directory"
    counting = LogCounting(is_deep=is_deep)
    with open_log(files, split.path) as reader:
        for run in reader.buffers(split.range.start, split.range.end):
            first, last = _edges(run, split)
            if first == last:
                continue
            data, position = run.data[first:last], run.position + first
            swept = sweeper.survey(data, counting.survey, is_deep=is_deep)
            if swept.fault is not None:
                raise located(swept.fault, run.path, shift=position)
            counting.add(Stretch(position, position + len(data), data, swept), run.path)
            counting.segments += position == 0
            counting.size += len(data)
    return counting


def _edges(run: BatchRun, split: Split) -> tuple[int, int]:
    """Return where in a run the batches begin and end that count here."""
    _, start, end = split.range
    if start <= run.first_offset and run.next_offset <= end:
        return 0, len(run.data)
    found = headers(lambda length, at: run.data[at : at + length], 0, len(run.data))
    inside = [each for each in found if start <= each.base_offset < end]
    return (inside[0].position, inside[-1].end) if inside else (0, 0)
