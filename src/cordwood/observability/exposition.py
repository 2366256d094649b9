r"""Metrics as Prometheus reads them, in its text format 0.0.4.

    # HELP name what it says
    # TYPE name counter
    name{label="value"} 12

In values of labels \, " and the end of a line are escaped. A histogram has a line for each bound,
each counting everything below it too, then its sum and its count. Lines of one metric stand in the
order in which their labels were first seen.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from cordwood.observability.catalogue import Metric
from cordwood.observability.metrics import Histogram, Instrument, Labels, Metrics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def expose(metrics: Metrics) -> Iterator[str]:
    """Yield everything that is known, line by line, so that others can have a turn in between."""
    for metric, values in metrics.found():
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
