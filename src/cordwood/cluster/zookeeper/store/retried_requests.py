"""Requests that are repeated after a lost connection (Kafka: `retryRequestsUntilConnected`).

A lost connection leaves it open whether a write was applied, so its repetition may fail because of
the first attempt. An outcome therefore states whether the request was repeated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    MATCH_ANY_VERSION,
    CreatedNode,
    NodeStat,
    StoredNode,
    Watch,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    ConnectionLossError,
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    ZooKeeperError,
)

T = TypeVar("T")

#: Requests that are prepared, sent and evaluated in one turn of the loop.
TURN: Final = 100


class RequestOutcome(NamedTuple, Generic[T]):
    """The result of a request, or the error with which the server rejected it."""

    result: T | None
    error: ZooKeeperError | None
    is_repeated: bool


async def pipelined(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[RequestOutcome[T]]:
    """Send all requests without a wait between them; repeat those that lost their connection."""
    outcomes: list[RequestOutcome[T] | None] = [None] * len(calls)
    repeated = set[int]()
    left = list(range(len(calls)))
    while left:
        turn, left = left[:TURN], left[TURN:]
        found = await asyncio.gather(*(calls[at]() for at in turn), return_exceptions=True)
        for at, each in zip(turn, found, strict=True):
            if isinstance(each, ConnectionLossError):
                repeated.add(at)
                left.append(at)
            elif isinstance(each, SessionExpiredError):
                raise each
            elif isinstance(each, ZooKeeperError):
                outcomes[at] = RequestOutcome(None, each, at in repeated)
            elif isinstance(each, BaseException):
                raise each
            else:
                outcomes[at] = RequestOutcome(each, None, at in repeated)
    return [each for each in outcomes if each is not None]


async def repeated(call: Callable[[], Awaitable[T]]) -> T:
    """Send one request until it has a result; raise the error with which it is rejected."""
    while True:
        try:
            return await call()
        except ConnectionLossError:
            continue


class RetriedRequests:
    """Reads and simple writes; a missing node is None."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self.client = client

    async def get(self, path: str, *, watch: Watch | None = None) -> StoredNode | None:
        """Read a node."""
        try:
            return await repeated(lambda: self.client.get(path, watch=watch))
        except NoNodeError:
            return None

    async def get_all(self, paths: Sequence[str]) -> list[StoredNode | None]:
        """Read nodes in one pipeline."""
        outcomes = await pipelined([_getter(self.client, path) for path in paths])
        return [_found(each) for each in outcomes]

    async def children(self, path: str, *, watch: Watch | None = None) -> list[str]:
        """Read the names of a node's children; none if the node does not exist."""
        try:
            return await repeated(lambda: self.client.children(path, watch=watch))
        except NoNodeError:
            return []

    async def all_children(self, paths: Sequence[str]) -> list[list[str]]:
        """Read the names of the children of nodes in one pipeline."""
        outcomes = await pipelined([_lister(self.client, path) for path in paths])
        return [_found(each) or [] for each in outcomes]

    async def exists(self, path: str, *, watch: Watch | None = None) -> NodeStat | None:
        """Read the facts of a node."""
        return await repeated(lambda: self.client.exists(path, watch=watch))

    async def create(self, path: str, data: bytes, *, ephemeral: bool = False) -> CreatedNode:
        """Create a node; NodeExistsError may be due to a lost attempt of this call."""
        return await repeated(lambda: self.client.create(path, data, ephemeral=ephemeral))

    async def create_missing(self, paths: Sequence[str]) -> None:
        """Create empty nodes, parents first, unless they exist."""
        outcomes = await pipelined([_creator(self.client, path) for path in paths])
        for path, outcome in zip(paths, outcomes, strict=True):
            if isinstance(outcome.error, NoNodeError):
                # The creation of its parent was lost, and repeated after this one.
                with suppress(NodeExistsError):
                    await self.create(path, b"")
            elif outcome.error is not None and not isinstance(outcome.error, NodeExistsError):
                raise outcome.error

    async def append(self, path: str, data: bytes) -> None:
        """Create a sequential node; a lost connection can leave two of them."""
        await repeated(lambda: self.client.create(path, data, sequential=True))

    async def delete_all(self, paths: Sequence[str]) -> None:
        """Remove nodes, unless they are gone."""
        for outcome in await pipelined([_deleter(self.client, path) for path in paths]):
            if outcome.error is not None and not isinstance(outcome.error, NoNodeError):
                raise outcome.error

    async def set_or_create(self, path: str, data: bytes) -> None:
        """Store the data of a node, whose parent exists."""
        while True:
            try:
                await repeated(lambda: self.client.set(path, data, version=MATCH_ANY_VERSION))
            except NoNodeError:
                try:
                    await self.create(path, data)
                except NodeExistsError:
                    continue
            return


def turns(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield items in lists that a turn of the loop can process; they are taken when needed."""
    left = iter(items)
    while turn := list(islice(left, TURN)):
        yield turn


def _found(outcome: RequestOutcome[T]) -> T | None:
    if outcome.error is not None and not isinstance(outcome.error, NoNodeError):
        raise outcome.error
    return outcome.result


def _getter(client: ZooKeeperClient, path: str) -> Callable[[], Awaitable[StoredNode]]:
    return lambda: client.get(path)


def _lister(client: ZooKeeperClient, path: str) -> Callable[[], Awaitable[list[str]]]:
    return lambda: client.children(path)


def _creator(client: ZooKeeperClient, path: str) -> Callable[[], Awaitable[object]]:
    return lambda: client.create(path)


def _deleter(client: ZooKeeperClient, path: str) -> Callable[[], Awaitable[None]]:
    return lambda: client.delete(path)
