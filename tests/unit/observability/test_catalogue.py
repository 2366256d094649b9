"""Tests of the catalogue of metrics."""

from pathlib import Path

import cordwood
from cordwood.observability.catalogue import CATALOGUE, MetricKind


def test_metric_names_follow_the_conventions_of_prometheus() -> None:
    for metric in CATALOGUE.values():
        assert metric.name.startswith("cordwood_"), metric.name
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name


def test_only_histograms_have_bounds_which_rise() -> None:
    for metric in CATALOGUE.values():
        assert (metric.bounds != ()) == (metric.kind is MetricKind.HISTOGRAM), metric.name
        assert list(metric.bounds) == sorted(metric.bounds)


def test_metrics_fit_on_a_screen() -> None:
    assert len(CATALOGUE) <= 55


def test_every_metric_of_the_catalogue_is_used() -> None:
    package = Path(cordwood.__file__).parent
    sources = "".join(
        path.read_text() for path in package.rglob("*.py") if path.name != "catalogue.py"
    )

    assert [name for name in CATALOGUE if f'"{name}"' not in sources] == []
