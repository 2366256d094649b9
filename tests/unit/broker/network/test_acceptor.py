"""Tests of listening sockets."""

import asyncio
import errno
import os
import socket

import pytest

from cordwood.broker.network.acceptor import Acceptor, Listener
from cordwood.core.address import Address
from cordwood.core.errors import ListenError
from tests.unit.broker.server_samples import Run, turn


class AcceptorHarness:
    """Collects the accepted connections, while it has room."""

    def __init__(self) -> None:
        self.is_open = True
        self.accepted: list[Address] = []
        self.failures: list[OSError] = []

    def listening(self, host: str = "127.0.0.1") -> Acceptor:
        return Acceptor(
            Listener(name="A", host=host, port=0),
            has_room=lambda _: self.is_open,
            accepted=self.take,
            failed=lambda _, error: self.failures.append(error),
        )

    def take(self, _: Listener, accepted: socket.socket, peer: Address) -> None:
        accepted.close()
        self.accepted.append(peer)


def test_every_address_of_the_machine_is_listened_to_without_a_host(run: Run) -> None:
    harness = AcceptorHarness()

    async def scene() -> None:
        listening = harness.listening("")
        port = listening.open().port
        with socket.create_connection(("127.0.0.1", port)):
            await turn()
        listening.close()

    run(scene())
    assert [peer.host for peer in harness.accepted] == ["127.0.0.1"]


def test_no_connection_is_accepted_above_the_limit(run: Run) -> None:
    harness = AcceptorHarness()
    harness.is_open = False

    async def scene() -> tuple[int, int]:
        listening = harness.listening()
        with socket.create_connection(listening.open()):
            await turn()
            before = len(harness.accepted)
            harness.is_open = True
            listening.resume()
            await turn()
        listening.close()
        return before, len(harness.accepted)

    assert run(scene()) == (0, 1)


def test_foreign_host_is_rejected() -> None:
    async def scene() -> None:
        AcceptorHarness().listening("192.0.2.1").open()

    with pytest.raises(ListenError, match=r"listener A cannot listen on 192\.0\.2\.1:0"):
        asyncio.run(scene())


def test_exhausted_system_is_reported_and_accepted_from_later(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = AcceptorHarness()

    def exhausted(_: socket.socket) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def scene() -> None:
        listening = harness.listening()
        with socket.create_connection(listening.open()):
            with monkeypatch.context() as patch:
                patch.setattr(socket.socket, "accept", exhausted)
                await turn()
                await turn()
            listening.resume()
            await turn()
        listening.close()

    run(scene())
    assert (len(harness.failures), len(harness.accepted)) == (1, 1)
