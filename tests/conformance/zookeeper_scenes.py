"""Conformance suite of the ZooKeeperClient port: scenes with clients whose connections break.

`tests/conformance/test_zookeeper_client.py` runs them over the server in memory, and
`tests/interop/test_zookeeper_client.py` over kazoo and a ZooKeeper server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CheckOp,
    CreateOp,
    DeleteOp,
    NodeStat,
    SessionState,
    SetDataOp,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    ConnectionLossError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
)

CONNECTED, SUSPENDED, EXPIRED = (
    SessionState.CONNECTED,
    SessionState.SUSPENDED,
    SessionState.EXPIRED,
)
#: More requests than the client gives to kazoo at once.
MANY: Final = 350


class Keeper(Protocol):
    """A server, and the faults between it and its clients."""

    async def client(self) -> ZooKeeperClient:
        """Return a client that has not started."""

    def break_connection(self, client: ZooKeeperClient) -> None:
        """Break the connection, which comes back."""

    async def lose_responses(self, client: ZooKeeperClient) -> None:
        """Break the connection when the server has handled what was sent."""

    def cut(self, client: ZooKeeperClient) -> None:
        """Break the connection, and permit none until it heals."""

    def heal(self, client: ZooKeeperClient) -> None:
        """Permit connections again."""

    async def expire(self, client: ZooKeeperClient) -> None:
        """End the session of a client at the server."""


class Session:
    """A client with the states that it has reported."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self.client = client
        self.states = list[SessionState]()
        self._changed = asyncio.Event()
        client.listen(self._note)

    def _note(self, state: SessionState) -> None:
        self.states.append(state)
        self._changed.set()

    async def until(self, *states: SessionState) -> None:
        """Wait for the states since the last call; they must be these."""
        while len(self.states) < len(states):
            self._changed.clear()
            await self._changed.wait()
        assert self.states == [*states]
        self.states.clear()


class Calls:
    """The calls of a watch."""

    def __init__(self) -> None:
        self.count = 0
        self._called = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        self._called.set()

    async def until_called(self) -> None:
        await self._called.wait()


async def connected(keeper: Keeper) -> Session:
    session = Session(await keeper.client())
    session.client.start()
    await session.until(CONNECTED)
    return session


async def created_node_has_its_data_and_facts(keeper: Keeper) -> None:
    client = (await connected(keeper)).client

    created = await client.create("/a", b"\xff data")
    node = await client.get("/a")

    assert created.path == "/a"
    assert node.data == b"\xff data"
    assert node.stat == created.stat == await client.exists("/a")
    assert node.stat.czxid == node.stat.mzxid > 0
    assert (node.stat.version, node.stat.ephemeral_owner) == (0, 0)
    assert node.stat.created_ms > 1_600_000_000_000


async def missing_node_is_an_error_or_none(keeper: Keeper) -> None:
    client = (await connected(keeper)).client

    assert await client.exists("/no") is None
    with pytest.raises(NoNodeError, match="/no: the node or its parent does not exist"):
        await client.get("/no")
    with pytest.raises(NoNodeError):
        await client.children("/no")
    with pytest.raises(NoNodeError):
        await client.set("/no", b"")
    with pytest.raises(NoNodeError):
        await client.delete("/no")
    with pytest.raises(NoNodeError):
        await client.create("/no/child")


async def set_raises_the_version(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    before = (await client.create("/a", b"1")).stat

    stat = await client.set("/a", b"2")
    stat = await client.set("/a", b"3", version=1)

    assert await client.get("/a") == (b"3", stat)
    assert (stat.version, stat.czxid) == (2, before.czxid)
    assert stat.mzxid > before.mzxid
    with pytest.raises(BadVersionError, match="/a: the node has another version"):
        await client.set("/a", b"4", version=1)


async def node_that_exists_is_not_created_again(keeper: Keeper) -> None:
    first, second = (await connected(keeper)).client, (await connected(keeper)).client
    await first.create("/a", b"first")

    with pytest.raises(NodeExistsError, match="/a: the node already exists"):
        await second.create("/a", b"second")

    assert (await second.get("/a")).data == b"first"


async def delete_needs_the_version_and_no_children(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    await client.create("/a")
    await client.create("/a/b")

    with pytest.raises(NotEmptyError, match="/a: the node has children"):
        await client.delete("/a")
    with pytest.raises(BadVersionError):
        await client.delete("/a/b", version=1)
    await client.delete("/a/b", version=0)
    await client.delete("/a")

    assert await client.exists("/a") is None


async def children_are_the_names_directly_below(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    for path in ("/a", "/a/c", "/a/b", "/a/b/x"):
        await client.create(path)

    assert await client.children("/a") == ["b", "c"]


async def sequential_names_count_all_children_ever_created(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    await client.create("/a")
    first = (await client.create("/a/n_", sequential=True)).path
    await client.create("/a/plain")
    await client.delete(first)

    second = await client.create("/a/n_", b"data", sequential=True)

    assert (first, second.path) == ("/a/n_0000000000", "/a/n_0000000002")
    assert (await client.get(second.path)).data == b"data"


async def ephemeral_node_ends_with_its_session(keeper: Keeper) -> None:
    owner, other = await connected(keeper), (await connected(keeper)).client
    stat = (await owner.client.create("/a", ephemeral=True)).stat
    removed = Calls()
    await other.exists("/a", watch=removed)

    with pytest.raises(NoChildrenForEphemeralsError):
        await other.create("/a/b")
    await owner.client.close()
    await removed.until_called()

    assert stat.ephemeral_owner == owner.client.session_id != 0
    assert await other.exists("/a") is None


async def multi_applies_all_operations_in_order(keeper: Keeper) -> None:
    client = (await connected(keeper)).client

    results = await client.multi(
        [
            CreateOp("/a", b"1"),
            CreateOp("/a/n_", b"2", ephemeral=True, sequential=True),
            SetDataOp("/a", b"3", version=0),
            CheckOp("/a", 1),
            CreateOp("/b"),
            DeleteOp("/b", version=0),
        ]
    )

    node = await client.get("/a")
    assert results == ["/a", "/a/n_0000000000", node.stat, None, "/b", None]
    assert (node.data, node.stat.version) == (b"3", 1)
    assert node.stat.czxid == node.stat.mzxid
    assert await client.exists("/b") is None


async def multi_changes_nothing_if_an_operation_is_impossible(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    await client.create("/a", b"1")

    with pytest.raises(BadVersionError, match="/a: ") as raised:
        await client.multi([CreateOp("/b"), SetDataOp("/a", b"2"), CheckOp("/a", 7)])
    with pytest.raises(NodeExistsError, match="/a: ") as first:
        await client.multi([CreateOp("/a"), DeleteOp("/no")])

    assert (raised.value.operation, first.value.operation) == (2, 0)
    assert (await client.get("/a")).data == b"1"
    assert await client.exists("/b") is None
    created = await client.create("/n_", sequential=True)
    await client.delete(created.path)


async def watch_of_data_is_called_once(keeper: Keeper) -> None:
    watcher, writer = (await connected(keeper)).client, (await connected(keeper)).client
    await writer.create("/a")
    changed, removed, created, read = Calls(), Calls(), Calls(), Calls()
    await watcher.get("/a", watch=changed)

    await writer.set("/a", b"1")
    await changed.until_called()
    await watcher.exists("/a", watch=removed)
    await writer.delete("/a")
    await removed.until_called()
    await watcher.exists("/a", watch=created)
    with pytest.raises(NoNodeError):
        await watcher.get("/a", watch=read)
    await writer.create("/a")
    await created.until_called()

    assert [each.count for each in (changed, removed, created, read)] == [1, 1, 1, 0]


async def watch_of_children_is_called_once(keeper: Keeper) -> None:
    watcher, writer = (await connected(keeper)).client, (await connected(keeper)).client
    await writer.create("/a")
    added, removed, gone = Calls(), Calls(), Calls()
    await watcher.children("/a", watch=added)

    await writer.create("/a/b")
    await added.until_called()
    assert await watcher.children("/a", watch=removed) == ["b"]
    await writer.set("/a/b", b"no change of the children")
    await writer.multi([DeleteOp("/a/b")])
    await removed.until_called()
    await watcher.children("/a", watch=gone)
    await writer.delete("/a")
    await gone.until_called()

    assert [each.count for each in (added, removed, gone)] == [1, 1, 1]


async def changed_data_arrive_after_the_watch(keeper: Keeper) -> None:
    watcher, writer = (await connected(keeper)).client, (await connected(keeper)).client
    await writer.create("/a", b"0")
    for number in range(30):
        changed = Calls()
        await watcher.get("/a", watch=changed)
        change = writer.set("/a", b"%d" % (number + 1))
        while (await watcher.get("/a")).data == b"%d" % number:
            assert changed.count <= 1

        assert changed.count == 1
        await change


async def many_requests_are_handled_in_the_order_of_their_calls(keeper: Keeper) -> None:
    client = (await connected(keeper)).client
    await client.create("/a")

    created = [client.create(f"/a/{number}") for number in range(MANY)]
    listed = client.children("/a")
    nodes = await asyncio.gather(*created)

    assert len(await listed) == MANY
    assert [node.path for node in nodes] == [f"/a/{number}" for number in range(MANY)]
    assert [*nodes] == sorted(nodes, key=lambda node: node.stat.czxid)


async def session_survives_a_lost_connection(keeper: Keeper) -> None:
    session = await connected(keeper)
    client, session_id, changed = session.client, session.client.session_id, Calls()
    await client.create("/a", ephemeral=True)
    await client.get("/a", watch=changed)

    keeper.break_connection(client)
    await session.until(SUSPENDED, CONNECTED)

    assert changed.count == 1, "a watch ends with the connection"
    assert client.session_id == session_id
    stat = await client.exists("/a")
    assert stat is not None
    assert stat.ephemeral_owner == session_id


async def requests_wait_while_there_is_no_connection(keeper: Keeper) -> None:
    session = Session(await keeper.client())
    client = session.client
    client.start()
    early = client.create("/early")
    await session.until(CONNECTED)
    assert (await early).path == "/early"
    keeper.cut(client)
    await session.until(SUSPENDED)
    assert client.state is SUSPENDED

    late = client.create("/late")
    keeper.heal(client)
    await session.until(CONNECTED)

    assert (await late).path == "/late"


async def lost_response_leaves_the_outcome_of_a_change_unknown(keeper: Keeper) -> None:
    session = await connected(keeper)

    change = session.client.create("/a")
    await keeper.lose_responses(session.client)

    with pytest.raises(ConnectionLossError, match="/a: the connection was lost"):
        await change
    assert await session.client.exists("/a") is not None


async def session_expires_once_without_a_connection(keeper: Keeper) -> None:
    session, other = await connected(keeper), (await connected(keeper)).client
    client, first_id, removed = session.client, session.client.session_id, Calls()
    await client.create("/a", ephemeral=True)
    await other.exists("/a", watch=removed)

    keeper.cut(client)
    await session.until(SUSPENDED)
    await keeper.expire(client)
    await removed.until_called()
    waiting = client.create("/waiting")
    keeper.heal(client)
    await session.until(EXPIRED)

    assert client.state is EXPIRED
    with pytest.raises((SessionExpiredError, ConnectionLossError)):
        await waiting
    with pytest.raises(SessionExpiredError, match="the session is over"):
        await client.exists("/a")
    client.start()
    await session.until(CONNECTED)
    assert client.session_id not in {0, first_id}
    assert await client.exists("/waiting") is None
    await client.create("/a", ephemeral=True)
    assert session.states == []


async def session_expires_although_the_client_is_connected(keeper: Keeper) -> None:
    session, changed = await connected(keeper), Calls()
    await session.client.create("/a", ephemeral=True)
    await session.client.get("/a", watch=changed)

    await keeper.expire(session.client)
    await session.until(SUSPENDED, EXPIRED)

    assert changed.count == 1
    session.client.start()
    await session.until(CONNECTED)
    assert await session.client.exists("/a") is None


async def closed_client_sends_nothing_and_calls_no_watch(keeper: Keeper) -> None:
    session, other = await connected(keeper), (await connected(keeper)).client
    changed = Calls()
    await other.create("/a")
    await session.client.get("/a", watch=changed)

    await session.client.close()
    await other.set("/a", b"1")

    with pytest.raises(SessionExpiredError):
        await session.client.create("/b")
    assert session.client.state is SessionState.CLOSED
    assert (changed.count, session.states) == (0, [])


async def one_of_two_clients_creates_a_node(keeper: Keeper) -> None:
    first, second = (await connected(keeper)).client, (await connected(keeper)).client
    await first.create("/epoch", b"0")

    claims = [
        client.multi([CreateOp("/leader", ephemeral=True), SetDataOp("/epoch", b"1", version=0)])
        for client in (first, second)
    ]
    outcomes = await asyncio.gather(*claims, return_exceptions=True)

    assert sum(isinstance(each, list) for each in outcomes) == 1
    assert sum(isinstance(each, NodeExistsError) for each in outcomes) == 1
    stat = await first.exists("/epoch")
    assert isinstance(stat, NodeStat)
    assert stat.version == 1


Scene: TypeAlias = Callable[[Keeper], Awaitable[None]]
SCENES: Final[tuple[Scene, ...]] = (
    created_node_has_its_data_and_facts,
    missing_node_is_an_error_or_none,
    set_raises_the_version,
    node_that_exists_is_not_created_again,
    delete_needs_the_version_and_no_children,
    children_are_the_names_directly_below,
    sequential_names_count_all_children_ever_created,
    ephemeral_node_ends_with_its_session,
    multi_applies_all_operations_in_order,
    multi_changes_nothing_if_an_operation_is_impossible,
    watch_of_data_is_called_once,
    watch_of_children_is_called_once,
    changed_data_arrive_after_the_watch,
    many_requests_are_handled_in_the_order_of_their_calls,
    session_survives_a_lost_connection,
    requests_wait_while_there_is_no_connection,
    lost_response_leaves_the_outcome_of_a_change_unknown,
    session_expires_once_without_a_connection,
    session_expires_although_the_client_is_connected,
    closed_client_sends_nothing_and_calls_no_watch,
    one_of_two_clients_creates_a_node,
)
