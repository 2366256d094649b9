"""What is in logs, in numbers: from headers alone, or from every record too.

Headers are believed, checksums are not looked at: that is what a verification is for. What cannot
be a batch is counted in bytes, and passed over. Records inside wrappers of the old formats are
counted only when these are opened, which deep statistics do.
"""

from collections.abc import Callable, Iterable
from functools import partial

from cordwood.core.ports import Files
from cordwood.records.sweep import PlainSweeper, Sweeper, Swept
from cordwood.storage.names import LOG
from cordwood.workbench.log_sums import LogCounting, LogStat, stat_of
from cordwood.workbench.places import Place, places_at
from cordwood.workbench.segment_walk import Break, SegmentFile, walk


def stat(
    files: Files,
    paths: Iterable[str],
    *,
    is_deep: bool = False,
    sweeper: Sweeper | None = None,
    tell: Callable[[int], object] = lambda _size: None,
) -> LogStat:
    """Return the numbers of what is at some paths; LogDirectoryError where there is no log."""
    counted = []
    for place in (each for path in paths for each in places_at(files, path)):

        def look(place: Place = place) -> LogCounting:
            counting = LogCounting(is_deep=is_deep)
            _count(place, counting, sweeper or PlainSweeper(), tell)
            return counting

        counted.append((place.reader.source.path, place.reader.patiently(look)))
        place.reader.close()
    return stat_of(counted, is_deep=is_deep)


def _count(
    place: Place, counting: LogCounting, sweeper: Sweeper, tell: Callable[[int], object]
) -> None:
    reader = place.reader
    survey = partial(sweeper.survey, survey=counting.survey, is_deep=counting.is_deep)

    def sweep(data: memoryview) -> Swept:
        return survey(data)

    for listed in reader.listed():
        if place.only not in (None, listed.base_offset):
            continue
        name = listed.name(LOG)
        file = SegmentFile(reader.source, name, reader.source.stat(name).size, tell)
        counting.segments += 1
        counting.size += file.size
        for part in walk(file, sweep):
            if isinstance(part, Break):
                counting.skipped += part.end - part.position
            else:
                counting.add(part, file.path)
