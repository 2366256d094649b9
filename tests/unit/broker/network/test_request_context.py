"""Tests of the request context."""

import pytest

from cordwood.broker.network.request_context import ConnectionInfo


@pytest.mark.parametrize(("host", "peer"), (("127.0.0.1", "127.0.0.1:9092"), ("::1", "[::1]:9092")))
def test_peer_is_formatted_as_a_parsable_address(host: str, peer: str) -> None:
    info = ConnectionInfo(id=1, host=host, port=9092, listener="PLAINTEXT", is_secure=False)

    assert info.peer == peer
