"""HTTP server for the metrics of streams, in the driver: GET /metrics in Prometheus's text format.

Spark's listeners run in threads of py4j, without an event loop, so the server is a thread of its
own. A page is a text that is already rendered: a request does not read metrics that change.
"""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import ListenError
from cordwood.observability.exposition import CONTENT_TYPE

#: The setting that errors name.
KEY: Final = "metrics address"
_TIMEOUT_S: Final = 5


class MetricsServer:
    """Serves a text until it is closed; `address` has the bound port."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        host, port = server.server_address[:2]
        self.address = Address(str(host), int(port))

    def close(self) -> None:
        """Stop serving, and free the port."""
        self._server.shutdown()
        self._server.server_close()


def serve_metrics(address: str, text: Callable[[], str]) -> MetricsServer:
    """Serve a text at `host:port`; port 0 is any free port."""
    host, port = Address.parse(address, key=KEY, lowest_port=0)
    try:
        server = ThreadingHTTPServer((host, port), partial(_MetricsHandler, text=text))
    except OSError as error:
        raise ListenError(
            f"{KEY}: cannot listen on {address}: {error.strerror}",
            key=KEY,
            remedy="choose an address of this machine and a free port",
        ) from error
    server.daemon_threads = True  # an open connection does not keep the driver alive
    Thread(target=server.serve_forever, name="cordwood-metrics", daemon=True).start()
    return MetricsServer(server)


class _MetricsHandler(BaseHTTPRequestHandler):
    """Answers GET and HEAD requests for `/metrics`."""

    timeout = _TIMEOUT_S

    def __init__(self, *args: object, text: Callable[[], str]) -> None:
        self._text = text
        super().__init__(*args)  # type: ignore[arg-type]  # socketserver's three arguments

    def do_GET(self) -> None:  # as http.server calls it
        """Send the metrics."""
        self._answer(has_body=True)

    def do_HEAD(self) -> None:  # as above
        """Send the headers of the metrics."""
        self._answer(has_body=False)

    def log_message(self, *_: object) -> None:
        """Do nothing: a request of a monitoring system is not an event."""

    def _answer(self, *, has_body: bool) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND, "no such page; the metrics are at /metrics")
            return
        body = self._text().encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if has_body:
            self.wfile.write(body)
