"""A listener that prints a line a batch and keeps metrics of streams for Prometheus.

    listener = cordwood.spark.StreamListener(metrics_path="…/cordwood.prom")
    listener.serve("127.0.0.1:9404")            # GET /metrics, until `close`
    spark.streams.addListener(listener)

Spark calls it in the driver, one call at a time. The metrics file is replaced after each batch, so
that the textfile collector of a node exporter reads a whole one. `metrics_text` returns the same
text, and so does the page; it is rendered after each batch.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.spark.stream.batch_progress import parse_progress, progress_line
from cordwood.spark.stream.metrics_server import MetricsServer, serve_metrics
from cordwood.spark.stream.stream_metrics import STREAM_CATALOGUE, count_batch, forget_lag

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class StreamListener(StreamingQueryListener):
    """Reports the batches of every query that reads `format("cordwood")`.

    `write` receives the lines, by default for stderr; `metrics_path` is a file for Prometheus.
    """

    def __init__(
        self,
        *,
        write: Callable[[str], object] | None = None,
        metrics_path: str | Path | None = None,
    ) -> None:
        self._write = _to_stderr if write is None else write
        self._metrics_path = None if metrics_path is None else Path(metrics_path)
        self._metrics = Metrics(STREAM_CATALOGUE)
        self._names: dict[str, str] = {}
        self._text = ""
        self._server: MetricsServer | None = None

    def metrics_text(self) -> str:
        """Return the metrics in Prometheus's text format, as they are after the last batch."""
        return self._text

    def serve(self, address: str) -> str:
        """Serve the metrics over HTTP at `host:port`, port 0 for a free one; return the address."""
        self.close()
        self._server = serve_metrics(address, self.metrics_text)
        return str(self._server.address)

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:  # noqa: N802  # as Spark calls it
        """Remember the name of a query."""
        self._names[str(event.runId)] = str(event.name or event.id)

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:  # noqa: N802  # as above
        """Print the line of a batch, and update the metrics."""
        done = parse_progress(json.loads(event.progress.json))
        if done is None:
            return
        self._write(progress_line(done))
        count_batch(self._metrics, done)
        self._save()

    def onQueryIdle(self, event: "QueryIdleEvent") -> None:  # noqa: N802  # as above
        """Do nothing: an idle query has no batch."""

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:  # noqa: N802  # as above
        """Forget the lag of a query that ended."""
        name = self._names.pop(str(event.runId), str(event.id))
        forget_lag(self._metrics, name)
        self._save()

    def _save(self) -> None:
        """Render the metrics, and replace the file of them."""
        self._text = "".join(expose(self._metrics))
        if self._metrics_path is not None:
            whole = self._metrics_path.with_name(f".{self._metrics_path.name}.tmp")
            whole.write_text(self.metrics_text())
            whole.replace(self._metrics_path)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
