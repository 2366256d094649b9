"""The HTTP server of metrics, by requests."""

from contextlib import closing
from http.client import HTTPConnection

import pytest

from cordwood.core.errors import ListenError, SettingError
from cordwood.spark.stream.metrics_server import MetricsServer, serve_metrics


def answered(server: MetricsServer, method: str, path: str) -> tuple[int, str]:
    """Return the status and the body of a request."""
    with closing(HTTPConnection(str(server.address), timeout=30)) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_text_is_the_page_of_the_moment() -> None:
    texts = ["a 1\n"]
    with closing(serve_metrics("127.0.0.1:0", lambda: texts[-1])) as server:
        first = answered(server, "GET", "/metrics")
        texts.append("a 2\n")

        assert (first, answered(server, "GET", "/metrics")) == ((200, "a 1\n"), (200, "a 2\n"))


def test_head_has_no_body_and_another_page_is_missing() -> None:
    with closing(serve_metrics("127.0.0.1:0", lambda: "a 1\n")) as server:
        assert answered(server, "HEAD", "/metrics") == (200, "")
        assert answered(server, "GET", "/other")[0] == 404


def test_address_in_use_is_an_error_with_its_remedy() -> None:
    with (
        closing(serve_metrics("127.0.0.1:0", str)) as server,
        pytest.raises(ListenError, match="choose an address of this machine and a free port"),
    ):
        serve_metrics(str(server.address), str)


def test_text_that_is_not_an_address_is_refused() -> None:
    with pytest.raises(SettingError, match="metrics address: invalid address"):
        serve_metrics("9404", str)
