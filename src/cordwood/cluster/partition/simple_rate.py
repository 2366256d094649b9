"""A rate over a few windows of time (Kafka: `SimpleRate`, `SampledStat`).

    rate = sum of the samples / time since the oldest sample began, one window at least

A sample collects the values of one window. One more sample than windows is kept, because a sample
may have begun before the measured time and reach into it. A sample without a value in the measured
time begins again at the next look.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class _RateSample:
    begin_ms: float
    last_ms: float
    total: int = 0

    def reset(self, now_ms: float) -> None:
        self.begin_ms = self.last_ms = now_ms
        self.total = 0


class SimpleRate:
    """Values per second; `windows` and `window_ms` are the measured time."""

    __slots__ = ("_current", "_samples", "_span_ms", "_window_ms", "_windows")

    def __init__(self, *, windows: int, window_ms: float) -> None:
        self._windows: Final = windows
        self._window_ms: Final = window_ms
        self._span_ms: Final = windows * window_ms
        self._samples: list[_RateSample] = []
        self._current = 0

    def record(self, value: int, *, now_ms: float) -> None:
        """Add a value to the sample of this time."""
        if not self._samples:
            self._samples.append(_RateSample(now_ms, now_ms))
        elif now_ms - self._samples[self._current].begin_ms >= self._window_ms:
            self._advance(now_ms)
        sample = self._samples[self._current]
        sample.total += value
        sample.last_ms = now_ms

    def measure(self, *, now_ms: float) -> float:
        """Return the values per second."""
        for sample in self._samples:
            if now_ms - sample.last_ms >= self._span_ms:
                sample.reset(now_ms)
        begin_ms = min((each.begin_ms for each in self._samples), default=now_ms)
        total = sum(each.total for each in self._samples)
        return 1_000 * total / max(now_ms - begin_ms, self._window_ms)

    def _advance(self, now_ms: float) -> None:
        self._current = (self._current + 1) % (self._windows + 1)
        if self._current == len(self._samples):
            self._samples.append(_RateSample(now_ms, now_ms))
        else:
            self._samples[self._current].reset(now_ms)
