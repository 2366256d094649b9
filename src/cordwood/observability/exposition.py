r"""Metrics in Prometheus's text format 0.0.4.

    # HELP name help text
    # TYPE name counter
    name{label="value"} 12

Label values have \, " and the newline escaped. A histogram has one cumulative line for each bound,
then its sum and its count. The lines of a metric are in the order in which their labels first
occurred.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from cordwood.observability.catalogue import Metric
from cordwood.observability.metrics import Histogram, Instrument, Labels, Metrics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def expose(metrics: Metrics) -> Iterator[str]:
    """Yield all metrics line by line, so that a caller can render them in several loop turns."""
    for metric, values in metrics.collect():
        yield f"# HELP {metric.name} {metric.help}\n"
        yield f"# TYPE {metric.name} {metric.kind.value}\n"
        for labels, value in values.items():
            for line in _lines(metric, labels, value):
                yield f"{line}\n"


def _lines(metric: Metric, labels: Labels, value: Instrument | float) -> Iterator[str]:
    pairs = [*zip(metric.labels, labels, strict=True)]
    if isinstance(value, Histogram):
        yield from _histogram_lines(metric.name, pairs, value)
    else:
        number = value if isinstance(value, int | float) else value.value
        yield f"{metric.name}{_braced(pairs)} {number}"


def _histogram_lines(
    name: str, pairs: Sequence[tuple[str, str]], histogram: Histogram
) -> Iterator[str]:
    bounds = [*map(str, histogram.bounds), "+Inf"]
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        yield f"{name}_bucket{_braced([*pairs, ('le', bound)])} {count}"
    yield f"{name}_sum{_braced(pairs)} {histogram.sum}"
    yield f"{name}_count{_braced(pairs)} {sum(histogram.counts)}"


def _braced(pairs: Sequence[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""
