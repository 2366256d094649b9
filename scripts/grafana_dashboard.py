"""Generator of packaging/grafana/cordwood.json, a dashboard for Grafana 10 and later.

python scripts/grafana_dashboard.py
"""

import json
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).resolve().parents[1] / "packaging" / "grafana" / "cordwood.json"

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_WIDTH: Final = 24
_PER_ROW: Final = 3
_HEIGHT: Final = 8


class Panel(NamedTuple):
    """A time series: its title, its unit in Grafana, and queries by legend."""

    title: str
    unit: str
    queries: dict[str, str]


def _rate(metric: str, by: str) -> str:
    return f'sum by ({by}) (rate({metric}{{job=~"$job"}}[$__rate_interval]))'


def _now(metric: str, by: str = "instance") -> str:
    return f'sum by ({by}) ({metric}{{job=~"$job"}})'


def _p99(metric: str, by: str) -> str:
    return f"histogram_quantile(0.99, {_rate(f'{metric}_bucket', f'le, {by}')})"


PANELS: Final = (
    Panel("Offline partitions", "short", {"{{instance}}": _now("cordwood_partitions_offline")}),
    Panel(
        "Usable space",
        "percentunit",
        {
            "{{directory}}": (
                f"{_now('cordwood_log_directory_usable_bytes', 'instance, directory')}"
                f" / {_now('cordwood_log_directory_total_bytes', 'instance, directory')}"
            )
        },
    ),
    Panel(
        "Slow calls of the event loop",
        "short",
        {"{{instance}}": _rate("cordwood_slow_calls_total", "instance")},
    ),
    Panel("Produced bytes", "Bps", {"{{topic}}": _rate("cordwood_produced_bytes_total", "topic")}),
    Panel(
        "Produced records", "wps", {"{{topic}}": _rate("cordwood_produced_records_total", "topic")}
    ),
    Panel("Fetched bytes", "Bps", {"{{topic}}": _rate("cordwood_fetched_bytes_total", "topic")}),
    Panel("Requests", "reqps", {"{{api}}": _rate("cordwood_requests_total", "api")}),
    Panel("Request time, p99", "s", {"{{api}}": _p99("cordwood_request_seconds", "api")}),
    Panel(
        "Rejected requests",
        "reqps",
        {"{{api}} {{error}}": _rate("cordwood_requests_refused_total", "api, error")},
    ),
    Panel("Connections", "short", {"{{listener}}": _now("cordwood_connections", "listener")}),
    Panel(
        "Memory of requests and responses",
        "bytes",
        {
            "requests": _now("cordwood_request_memory_bytes"),
            "responses": _now("cordwood_response_memory_bytes"),
        },
    ),
    Panel("Fsync time, p99", "s", {"{{instance}}": _p99("cordwood_flush_seconds", "instance")}),
    Panel("Bytes of logs", "bytes", {"{{topic}}": _now("cordwood_log_bytes", "topic")}),
    Panel("Deleted bytes", "Bps", {"{{reason}}": _rate("cordwood_deleted_bytes_total", "reason")}),
    Panel(
        "Partitions that the cleaner cannot clean",
        "short",
        {"{{directory}}": _now("cordwood_cleaner_failing_partitions", "directory")},
    ),
    Panel("Groups", "short", {"{{state}}": _now("cordwood_groups", "state")}),
    Panel(
        "Rebalances",
        "short",
        {"{{protocol}}": _rate("cordwood_group_rebalances_total", "protocol")},
    ),
    Panel("Transactions", "short", {"{{result}}": _rate("cordwood_transactions_total", "result")}),
)


def dashboard() -> str:
    """Return the dashboard as JSON."""
    variables = [
        {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {
            "name": "job",
            "label": "Job",
            "type": "query",
            "datasource": _SOURCE,
            "query": "label_values(cordwood_info, job)",
            "includeAll": True,
            "multi": True,
            "refresh": 2,
        },
    ]
    document = {
        "title": "Cordwood",
        "uid": "cordwood",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": variables},
        "panels": [_panel(number, each) for number, each in enumerate(PANELS)],
    }
    return f"{json.dumps(document, indent=2)}\n"


def _panel(number: int, panel: Panel) -> dict[str, object]:
    row, column = divmod(number, _PER_ROW)
    width = _WIDTH // _PER_ROW
    return {
        "id": number + 1,
        "title": panel.title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": column * width, "y": row * _HEIGHT, "w": width, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "expr": query, "legendFormat": legend}
            for at, (legend, query) in enumerate(panel.queries.items())
        ],
    }


if __name__ == "__main__":
    FILE.write_text(dashboard(), encoding="utf-8")
