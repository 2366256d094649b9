"""Counters, gauges and histograms, by catalogue name and label values.

`counter` is a lookup and `add` is one addition, so frequent callers keep the object. A gauge with a
value that can be computed at any time has a callback, which every collection calls.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from cordwood.observability.catalogue import CATALOGUE, Metric, MetricKind

Labels: TypeAlias = tuple[str, ...]
Readings: TypeAlias = Mapping[Labels, float]


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def add(self, amount: float = 1) -> None:
        self.value += amount


class Gauge:
    """A number that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def set(self, value: float) -> None:
        self.value = value

    def add(self, amount: float) -> None:
        self.value += amount


class Histogram:
    """The number of values up to each bound and above the last one, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds: Final = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


Instrument: TypeAlias = Counter | Gauge | Histogram


class Metrics:
    """All metrics of one broker, or of another catalogue, by the labels of the catalogue."""

    def __init__(self, catalogue: Mapping[str, Metric] = CATALOGUE) -> None:
        self._catalogue = catalogue
        self._instruments: dict[str, dict[Labels, Instrument]] = {}
        self._readers: dict[str, Callable[[], Readings]] = {}

    def counter(self, name: str, *labels: str) -> Counter:
        """Return the counter of these labels, the same each time."""
        found = self._instrument(name, MetricKind.COUNTER, labels)
        assert isinstance(found, Counter), f"{name} is a counter"
        return found

    def gauge(self, name: str, *labels: str) -> Gauge:
        """Return the gauge of these labels, the same each time."""
        found = self._instrument(name, MetricKind.GAUGE, labels)
        assert isinstance(found, Gauge), f"{name} is a gauge"
        return found

    def histogram(self, name: str, *labels: str) -> Histogram:
        """Return the histogram of these labels, the same each time."""
        found = self._instrument(name, MetricKind.HISTOGRAM, labels)
        assert isinstance(found, Histogram), f"{name} is a histogram"
        return found

    def read(self, name: str, call: Callable[[], Readings]) -> None:
        """Register a callback; it returns values by labels at every collection."""
        assert self._catalogue[name].kind is not MetricKind.HISTOGRAM, f"{name} is a histogram"
        self._readers[name] = call

    def forget(self, name: str, *labels: str) -> None:
        """Remove one set of labels from a metric."""
        self._instruments.get(name, {}).pop(labels, None)

    def labels_of(self, name: str) -> list[Labels]:
        """Return the sets of labels of a metric, in the order in which they first occurred."""
        return [*self._instruments.get(name, ())]

    def collect(self) -> Iterator[tuple[Metric, Mapping[Labels, Instrument | float]]]:
        """Yield the metrics that have values, in the order of the catalogue."""
        for name, metric in self._catalogue.items():
            values: dict[Labels, Instrument | float] = dict(self._instruments.get(name, {}))
            if name in self._readers:
                values |= self._readers[name]()
            if values:
                yield metric, values

    def _instrument(self, name: str, kind: MetricKind, labels: Labels) -> Instrument:
        metric = self._catalogue[name]
        assert metric.kind is kind, f"{name} is a {metric.kind.value}"
        assert len(labels) == len(metric.labels), f"{name} has the labels {metric.labels}"
        instruments = self._instruments.setdefault(name, {})
        found = instruments.get(labels)
        if found is None:
            found = instruments[labels] = _make_instrument(metric)
        return found


def _make_instrument(metric: Metric) -> Instrument:
    if metric.kind is MetricKind.HISTOGRAM:
        return Histogram(metric.bounds)
    return Counter() if metric.kind is MetricKind.COUNTER else Gauge()
