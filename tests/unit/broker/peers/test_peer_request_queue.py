"""Tests of the requests to other brokers, one per broker at a time."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from cordwood.broker.peers.peer_channels import NoPeers, PeerChannels
from cordwood.broker.peers.peer_request_queue import PeerRequestQueue
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.core.errors import KafkaError, NetworkError
from cordwood.protocol.schema import NEWEST, Request, Response
from tests.unit.broker.broker_samples import run, turns

R = TypeVar("R", bound=Response)


class Peers:
    """Channels that are only given to a request."""

    def __init__(self) -> None:
        self.asked = list[int]()
        self.is_closed = False

    def channel(self, node_id: int) -> BrokerChannel:
        self.asked.append(node_id)
        return NoChannel()

    def close(self) -> None:
        self.is_closed = True


class NoChannel:
    """A channel that no request uses."""

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        raise NotImplementedError

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Request3:
    """A request with up to three numbers, whose results are their doubles.

    It waits for `responds`.
    """

    def __init__(self) -> None:
        self.sent = list[tuple[int, ...]]()
        self.peers = Peers()
        self.responds = asyncio.Event()
        self.error: Exception | None = None

    def fits(self, chosen: Sequence[int], entry: int) -> bool:
        del entry
        return len(chosen) < 3

    async def send(self, channel: BrokerChannel, entries: Sequence[int]) -> list[int]:
        assert isinstance(channel, NoChannel)
        self.sent.append((self.peers.asked[-1], *entries))
        await self.responds.wait()
        if self.error is not None:
            raise self.error
        return [2 * each for each in entries]


def queue_of(request: Request3, peers: PeerChannels | None = None) -> PeerRequestQueue[int, int]:
    return PeerRequestQueue(request, peers or request.peers)


def shown(result: int | KafkaError) -> object:
    return type(result).__name__ if isinstance(result, KafkaError) else result


def test_entries_that_arrive_during_a_request_share_the_next_one() -> None:
    async def scene() -> list[tuple[int, ...]]:
        request = Request3()
        queue = queue_of(request)
        results = [queue.add(7, 1)]
        await turns()
        results += [queue.add(7, each) for each in (2, 3, 4, 5)]
        assert len(queue) == 4
        request.responds.set()
        for each in results:
            await each
        return request.sent

    assert run(scene()) == [(7, 1), (7, 2, 3, 4), (7, 5)]


def test_each_entry_has_its_result() -> None:
    async def scene() -> list[object]:
        request = Request3()
        request.responds.set()
        queue = queue_of(request)
        results = [queue.add(7, 1), queue.add(8, 2), queue.add(7, 3)]
        return [shown(await each) for each in results]

    assert run(scene()) == [2, 4, 6]


def test_broker_that_does_not_answer_holds_up_no_other_one() -> None:
    async def scene() -> list[tuple[int, ...]]:
        request = Request3()
        queue = queue_of(request)
        queue.add(7, 1)
        queue.add(8, 2)
        await turns()
        await queue.stop()
        return request.sent

    assert run(scene()) == [(7, 1), (8, 2)]


def test_error_of_a_request_is_the_result_of_its_entries() -> None:
    async def scene() -> list[object]:
        request = Request3()
        request.responds.set()
        request.error = NetworkError("gone")
        queue = queue_of(request)
        found = [shown(await queue.add(7, 1))]
        request.error = ZeroDivisionError()
        found.append(shown(await queue.add(7, 1)))
        found.append(shown(await queue_of(request, NoPeers()).add(7, 1)))
        return found

    assert run(scene()) == ["NetworkError", "UnknownServerError", "BrokerNotAvailableError"]


def test_cancelled_entry_leaves_the_queue() -> None:
    async def scene() -> list[tuple[int, ...]]:
        request = Request3()
        queue = queue_of(request)
        queue.add(7, 1)
        await turns()
        queue.add(7, 2).cancel()
        kept = queue.add(7, 3)
        request.responds.set()
        await kept
        return request.sent

    assert run(scene()) == [(7, 1), (7, 3)]


def test_stop_ends_all_entries_and_closes_the_channels() -> None:
    async def scene() -> tuple[list[object], bool]:
        request = Request3()
        queue = queue_of(request)
        results = [queue.add(7, 1)]
        await turns()
        results.append(queue.add(7, 2))
        await queue.stop()
        results.append(queue.add(7, 3))
        return [shown(await each) for each in results], request.peers.is_closed

    assert run(scene()) == (["CoordinatorNotAvailableError"] * 3, True)
