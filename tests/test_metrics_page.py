"""The page of metrics and the dashboard are generated, and name only series that exist."""

import json
import re

import pytest

from cordwood.observability.catalogue import CATALOGUE, Metric, MetricKind
from scripts import grafana_dashboard, metrics_page

_SERIES = re.compile(r"\bcordwood_\w+")
_LABELS = re.compile(r"\b(?:by \(|\{\{)([\w, ]+)[)}]")
#: Labels that Prometheus adds to each series, and the bound of a bucket.
_ADDED = {"instance", "job", "le"}


def queries() -> list[tuple[str, str]]:
    """Return the queries of the dashboard with their legends."""
    panels = json.loads(grafana_dashboard.FILE.read_text(encoding="utf-8"))["panels"]
    return [(each["expr"], each["legendFormat"]) for panel in panels for each in panel["targets"]]


def test_page_of_metrics_is_current() -> None:
    fresh = metrics_page.PAGE.read_text(encoding="utf-8") == metrics_page.page()

    assert fresh, "run python -m scripts.metrics_page"


def test_page_has_each_metric_once() -> None:
    page = metrics_page.PAGE.read_text(encoding="utf-8")

    assert [each for each in CATALOGUE if page.count(f"| `{each}` |") != 1] == []


def test_metric_of_no_section_is_an_error() -> None:
    with pytest.raises(KeyError, match="cordwood_zebras is in no section"):
        metrics_page.by_section([Metric("cordwood_zebras", MetricKind.GAUGE, "Zebras.")])


def test_dashboard_is_current() -> None:
    fresh = grafana_dashboard.FILE.read_text(encoding="utf-8") == grafana_dashboard.dashboard()

    assert fresh, "run python -m scripts.grafana_dashboard"


def test_dashboard_asks_for_series_and_labels_that_exist() -> None:
    of_series = {
        series: metric for metric in CATALOGUE.values() for series in metrics_page.series(metric)
    }
    asked = 0

    for query, legend in queries():
        named = _SERIES.findall(query)
        assert named, query
        assert {*named} <= {*of_series}, query
        known = _ADDED.union(*(of_series[each].labels for each in named))
        labels = {
            label.strip()
            for text in _LABELS.findall(f"{query} {legend}")
            for label in text.split(",")
        }
        assert labels <= known, query
        asked += len(labels)
    assert asked > len(queries())


def test_dashboard_takes_the_rate_of_counters_alone() -> None:
    for query, _ in queries():
        for series in _SERIES.findall(query):
            grows = series.endswith(("_total", "_bucket", "_sum", "_count"))

            assert grows == (f"rate({series}{{" in query), query


def test_panels_do_not_overlap() -> None:
    panels = json.loads(grafana_dashboard.FILE.read_text(encoding="utf-8"))["panels"]
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels]

    assert len({*places}) == len(places) == len({each["id"] for each in panels})
    assert all(each["gridPos"]["x"] + each["gridPos"]["w"] <= 24 for each in panels)
