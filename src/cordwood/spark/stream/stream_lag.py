"""The lag of a stream in time: the age of the oldest record that it has not read.

Zero if the stream is caught up. Times of records are looked up at most every ten seconds.
"""

from typing import Final

from cordwood.core.ports import Clock, Files
from cordwood.spark.source.source_options import Offsets, SourceOptions
from cordwood.spark.source.source_view import SourceView
from cordwood.spark.stream.record_times import times_in_directories, times_on_brokers

_INTERVAL_MS: Final = 10_000


class StreamLag:
    """The lag of one query."""

    def __init__(self, files: Files, options: SourceOptions, clock: Clock) -> None:
        self._files = files
        self._options = options
        self._clock = clock
        self._asked_ms: float | None = None
        self._oldest_ms: int | None = None

    def behind_ms(self, positions: Offsets, view: SourceView) -> int:
        """Return the age of the oldest record at or after the positions, in milliseconds."""
        behind = unread(positions, view)
        if not behind:
            self._asked_ms = self._oldest_ms = None
            return 0
        now_ms = self._clock.monotonic_ms()
        if self._asked_ms is None or now_ms - self._asked_ms >= _INTERVAL_MS:
            self._asked_ms, self._oldest_ms = now_ms, self._oldest(behind, view)
        return 0 if self._oldest_ms is None else max(0, self._clock.now_ms() - self._oldest_ms)

    def _oldest(self, behind: Offsets, view: SourceView) -> int | None:
        times = times_in_directories(self._files, behind, available=view.available)
        if self._options.servers:
            left = {each: offset for each, offset in behind.items() if each not in times}
            times |= times_on_brokers(self._options, left)
        return min(times.values(), default=None)


def unread(positions: Offsets, view: SourceView) -> Offsets:
    """Return the next readable offset of each partition that has unread records."""
    return {
        partition: max(offset, view.extents[partition].first)
        for partition, offset in positions.items()
        if partition in view.extents and offset < view.extents[partition].end
    }
