"""The list of metrics."""

from pathlib import Path

import cordwood
from cordwood.observability.catalogue import CATALOGUE, Kind


def test_metrics_are_named_as_prometheus_wants_them() -> None:
    for metric in CATALOGUE.values():
        assert metric.name.startswith("cordwood_"), metric.name
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name


def test_histograms_alone_have_bounds_which_rise() -> None:
    for metric in CATALOGUE.values():
        assert (metric.bounds != ()) == (metric.kind is Kind.HISTOGRAM), metric.name
        assert list(metric.bounds) == sorted(metric.bounds)


def test_metrics_fit_on_a_screen() -> None:
    assert len(CATALOGUE) <= 50


def test_metric_without_anybody_who_feeds_it_is_not_in_the_catalogue() -> None:
    package = Path(cordwood.__file__).parent
    sources = "".join(
        path.read_text() for path in package.rglob("*.py") if path.name != "catalogue.py"
    )

    assert [name for name in CATALOGUE if f'"{name}"' not in sources] == []
