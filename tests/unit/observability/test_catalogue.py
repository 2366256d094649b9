"""The list of metrics."""

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
