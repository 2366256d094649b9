"""Counters, gauges and histograms, each by its name in the catalogue and the values of its labels.

Whoever counts often keeps the object: `counter` looks it up, `add` is one addition. A gauge that
can be asked for at any time is not kept up to date but read, when somebody looks.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from cordwood.observability.catalogue import CATALOGUE, Kind, Metric

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
    """How many values fell at or below each bound, and above the last; and their sum."""

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
    """All figures of one broker. Labels are given in the order of the catalogue."""

    def __init__(self) -> None:
        self._instruments: dict[str, dict[Labels, Instrument]] = {}
        self._readers: dict[str, Callable[[], Readings]] = {}

    def counter(self, name: str, *labels: str) -> Counter:
        """Return the counter of these labels, the same each time."""
        found = self._instrument(name, Kind.COUNTER, labels)
        assert isinstance(found, Counter), f"{name} is a counter"
        return found

    def gauge(self, name: str, *labels: str) -> Gauge:
        """Return the gauge of these labels, the same each time."""
        found = self._instrument(name, Kind.GAUGE, labels)
        assert isinstance(found, Gauge), f"{name} is a gauge"
        return found

    def histogram(self, name: str, *labels: str) -> Histogram:
        """Return the histogram of these labels, the same each time."""
        found = self._instrument(name, Kind.HISTOGRAM, labels)
        assert isinstance(found, Histogram), f"{name} is a histogram"
        return found

    def read(self, name: str, call: Callable[[], Readings]) -> None:
        """Have `call` say what a gauge is, by its labels, whenever somebody looks."""
        assert CATALOGUE[name].kind is Kind.GAUGE, f"{name} is no gauge"
        self._readers[name] = call

    def forget(self, name: str, *labels: str) -> None:
        """Show these labels no more: what they spoke of is gone."""
        self._instruments.get(name, {}).pop(labels, None)

    def found(self) -> Iterator[tuple[Metric, Mapping[Labels, Instrument | float]]]:
        """Yield what is known now, in the order of the catalogue; what has no value is left out."""
        for name, metric in CATALOGUE.items():
            values: dict[Labels, Instrument | float] = dict(self._instruments.get(name, {}))
            if name in self._readers:
                values |= self._readers[name]()
            if values:
                yield metric, values

    def _instrument(self, name: str, kind: Kind, labels: Labels) -> Instrument:
        metric = CATALOGUE[name]
        assert metric.kind is kind, f"{name} is a {metric.kind.value}"
        assert len(labels) == len(metric.labels), f"{name} has the labels {metric.labels}"
        instruments = self._instruments.setdefault(name, {})
        found = instruments.get(labels)
        if found is None:
            found = instruments[labels] = _made(metric)
        return found


def _made(metric: Metric) -> Instrument:
    if metric.kind is Kind.HISTOGRAM:
        return Histogram(metric.bounds)
    return Counter() if metric.kind is Kind.COUNTER else Gauge()
