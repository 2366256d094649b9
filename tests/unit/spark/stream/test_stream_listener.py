"""The listener of streams, with events as Spark makes them."""

import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.observability.exposition import CONTENT_TYPE
from cordwood.spark.stream.stream_listener import StreamListener
from tests.unit.spark.stream.test_batch_progress import OURS, THEIRS, progress

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

    from cordwood.spark.stream.stream_offset import JsonObject

pytestmark = pytest.mark.spark

RUN = {"runId": "run", "id": "q"}


def finished(listener: StreamListener, *sources: "JsonObject") -> None:
    text = json.dumps(progress(*sources, name="orders"))
    event = SimpleNamespace(progress=SimpleNamespace(json=text))
    listener.onQueryProgress(cast("QueryProgressEvent", event))


def test_line_is_written_for_each_batch() -> None:
    lines = list[str]()
    listener = StreamListener(write=lines.append)

    finished(listener, OURS)
    finished(listener, THEIRS)

    assert [line[:15] for line in lines] == ["orders batch 7:"]


def test_metrics_file_is_replaced_after_each_batch(tmp_path: Path) -> None:
    listener = StreamListener(write=list[str]().append, metrics_path=tmp_path / "cordwood.prom")

    finished(listener, OURS)
    finished(listener, OURS)

    assert [each.name for each in tmp_path.iterdir()] == ["cordwood.prom"]
    assert (tmp_path / "cordwood.prom").read_text() == listener.metrics_text()
    assert 'cordwood_stream_batches_total{query="orders"} 2' in listener.metrics_text()


def test_lag_ends_with_the_query() -> None:
    listener = StreamListener(write=list[str]().append)
    started = SimpleNamespace(**RUN, name="orders")
    listener.onQueryStarted(cast("QueryStartedEvent", started))
    finished(listener, OURS)

    listener.onQueryTerminated(cast("QueryTerminatedEvent", SimpleNamespace(**RUN)))

    assert "behind" not in listener.metrics_text()


def fetched(address: str, path: str = "/metrics") -> tuple[int, str, str]:
    """Return the status, the content type and the body of a GET request."""
    connection = HTTPConnection(address, timeout=30)
    with closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
        return response.status, str(response.getheader("Content-Type")), body


def test_metrics_are_served_over_http_after_each_batch() -> None:
    listener = StreamListener(write=list[str]().append)
    with closing(listener):
        address = listener.serve("127.0.0.1:0")
        before = fetched(address)
        finished(listener, OURS)

        after = fetched(address)

    assert before == (200, CONTENT_TYPE, "")
    assert after == (200, CONTENT_TYPE, listener.metrics_text())
    behind = 'cordwood_stream_partition_behind_records{query="orders",topic="orders",partition="0"}'
    assert f"{behind} 4\n" in after[2]


def test_line_goes_to_stderr_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    finished(StreamListener(), OURS)

    assert capsys.readouterr().err.startswith("orders batch 7: 3000 records")
