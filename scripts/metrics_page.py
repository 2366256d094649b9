"""Generator of docs/metrics.md from the catalogue of metrics; a test compares the page with it.

python scripts/metrics_page.py
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cordwood.observability.catalogue import CATALOGUE, Metric, MetricKind

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"

INTRODUCTION: Final = """\
# Metrics
This page is written by `scripts/metrics_page.py` from `observability/catalogue.py`.

A broker serves metrics in Prometheus's format if `cordwood.metrics.listener` is set; it is off by
default. `/healthz` on the same listener answers 200, or 503 once all log directories are offline.

    cordwood serve --set cordwood.metrics.listener=127.0.0.1:9404
    curl http://127.0.0.1:9404/metrics

A counter only grows, so use `rate()`. A histogram has the series `_bucket`, `_sum` and `_count`,
with the upper bounds that are listed. [operations.md](operations.md) has the conditions for alarms,
and `packaging/grafana/cordwood.json` is a dashboard.
"""

#: The sections, by the beginning of the names after `cordwood_`; a name is in the first that fits.
SECTIONS: Final = {
    "Broker": ("info", "start_time", "slow_calls", "log_lines"),
    "Clients": (
        *("connections", "tls", "requests", "request_", "response_", "received", "sent"),
        "fetch_sessions",
    ),
    "Topics": ("topics", "partitions", "produce", "fetched"),
    "Groups and transactions": ("group", "transaction", "coordinator"),
    "Log cleaner": ("cleaner",),
    "Logs and disks": ("log_", "deleted", "transient", "flush"),
}


def page() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    for title, metrics in by_section(CATALOGUE.values()).items():
        lines += [f"## {title}", "| metric | kind | labels | meaning |", "|---|---|---|---|"]
        lines += [*map(_row, metrics), ""]
    return "\n".join(lines)


def by_section(metrics: Iterable[Metric]) -> dict[str, list[Metric]]:
    """Return the metrics of each section; KeyError for one that fits nowhere."""
    found: dict[str, list[Metric]] = {title: [] for title in SECTIONS}
    for metric in metrics:
        found[_section(metric.name)].append(metric)
    return found


def _section(name: str) -> str:
    for title, beginnings in SECTIONS.items():
        if name.removeprefix("cordwood_").startswith(beginnings):
            return title
    raise KeyError(f"{name} is in no section of scripts/metrics_page.py")


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{each}`" for each in metric.labels)
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help}{_bounds(metric)} |"


def _bounds(metric: Metric) -> str:
    if metric.kind is not MetricKind.HISTOGRAM:
        return ""
    return f" Bounds: {', '.join(f'{each:g}' for each in metric.bounds)}."


def series(metric: Metric) -> Iterator[str]:
    """Yield the names of the series of a metric."""
    if metric.kind is MetricKind.HISTOGRAM:
        yield from (f"{metric.name}_{each}" for each in ("bucket", "sum", "count"))
    else:
        yield metric.name


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
