"""Queues of requests to other brokers, one request per broker at a time.

Kafka: `InterBrokerSendThread` with `TxnMarkerQueue`. Entries that arrive while a request is on its
way share the next one:

    add ──► queue of the broker ──► request with all that fits ──► results, or one error for all

An entry whose future is cancelled leaves the queue. The request is not repeated here: its caller
chooses the broker again, since the leader may have moved.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from cordwood.broker.peers.peer_channels import PeerChannels
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.core.errors import CoordinatorNotAvailableError, KafkaError, UnknownServerError
from cordwood.observability.logs import fields

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

_log = logging.getLogger(__name__)


class PeerRequest(Protocol[T_contra, R_co]):
    """One kind of request, which has several entries."""

    def fits(self, chosen: Sequence[T_contra], entry: T_contra) -> bool:
        """Return whether a request with the chosen entries may have another one."""

    async def send(self, channel: BrokerChannel, entries: Sequence[T_contra]) -> Sequence[R_co]:
        """Send one request; return the result of each entry, or raise a KafkaError for all."""


PeerResult: TypeAlias = "asyncio.Future[R | KafkaError]"
"""The result of an entry; an error is a result as well, since several entries share it."""


class _Entry(NamedTuple, Generic[T, R]):
    """An entry that waits for a request, or for its response."""

    value: T
    result: "asyncio.Future[R | KafkaError]"


class PeerRequestQueue(Generic[T, R]):
    """The entries for all other brokers. Used on the event loop alone."""

    def __init__(self, request: PeerRequest[T, R], peers: PeerChannels) -> None:
        self._request: Final = request
        self._peers: Final = peers
        self._queues = defaultdict[int, deque[_Entry[T, R]]](deque)
        self._senders = dict[int, asyncio.Task[None]]()
        self._is_stopped = False

    def __len__(self) -> int:
        """Return the number of entries that are not sent yet."""
        return sum(map(len, self._queues.values()))

    def add(self, node_id: int, value: T) -> "asyncio.Future[R | KafkaError]":
        """Add an entry for a broker; return the future of its result."""
        loop = asyncio.get_running_loop()
        entry: _Entry[T, R] = _Entry(value, loop.create_future())
        if self._is_stopped:
            entry.result.set_result(CoordinatorNotAvailableError("the broker stops"))
            return entry.result
        self._queues[node_id].append(entry)
        if node_id not in self._senders:
            self._senders[node_id] = loop.create_task(self._send_all(node_id))
        return entry.result

    async def stop(self) -> None:
        """End all requests; entries without a result get COORDINATOR_NOT_AVAILABLE."""
        self._is_stopped = True
        self._peers.close()
        senders = [*self._senders.values()]
        for each in senders:
            each.cancel()
        if senders:
            await asyncio.wait(senders)
        for queue in self._queues.values():
            _give(queue, CoordinatorNotAvailableError("the broker stops"))
        self._queues.clear()

    async def _send_all(self, node_id: int) -> None:
        """Send requests to one broker until its queue is empty."""
        try:
            while entries := self._take(node_id):
                await self._send(node_id, entries)
        finally:
            del self._senders[node_id]

    def _take(self, node_id: int) -> list[_Entry[T, R]]:
        """Remove and return the entries of the next request; none if all are cancelled."""
        queue = self._queues[node_id]
        entries, values = list[_Entry[T, R]](), list[T]()
        while queue:
            if not queue[0].result.done():
                if values and not self._request.fits(values, queue[0].value):
                    return entries
                entries.append(queue[0])
                values.append(queue[0].value)
            queue.popleft()
        return entries

    async def _send(self, node_id: int, entries: Sequence[_Entry[T, R]]) -> None:
        """Send one request, and give each entry its result."""
        try:
            channel = self._peers.channel(node_id)
            results = await self._request.send(channel, [each.value for each in entries])
        except KafkaError as error:
            _give(entries, error.with_traceback(None))
        except asyncio.CancelledError:
            _give(entries, CoordinatorNotAvailableError("the broker stops"))
            raise
        except Exception:  # noqa: BLE001 - the task's owner; the entries must have a result
            _log.exception("request to a broker failed", extra=fields(broker=node_id))
            _give(entries, UnknownServerError(f"a request to broker {node_id} failed"))
        else:
            for entry, result in zip(entries, results, strict=True):
                if not entry.result.done():
                    entry.result.set_result(result)


def _give(entries: Sequence[_Entry[T, R]] | deque[_Entry[T, R]], error: KafkaError) -> None:
    """Give all entries without a result an error."""
    for each in entries:
        if not each.result.done():
            each.result.set_result(error)
