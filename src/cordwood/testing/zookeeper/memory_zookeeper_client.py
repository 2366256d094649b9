"""Client of ZooKeeper in memory, whose connections a test breaks.

    client.break_connection()     lost now, back soon
    client.cut(), client.heal()   no connection until it heals
    server.expire(session_id)     the session ends although the client is connected

At most `window` requests are on the way. The others wait, so that a request which was lost, and is
then repeated, can come after requests that were made later.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar, cast

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    MATCH_ANY_VERSION,
    NO_SESSION,
    CreatedNode,
    CreateOp,
    DeleteOp,
    MultiOp,
    MultiResult,
    NodeStat,
    SessionState,
    SetDataOp,
    StateListener,
    StoredNode,
    Watch,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    ConnectionLossError,
    NoNodeError,
    SessionExpiredError,
    ZooKeeperError,
)
from cordwood.testing.zookeeper.memory_zookeeper import MemoryConnection, MemoryZooKeeper

T = TypeVar("T")

Serve: TypeAlias = Callable[[MemoryConnection], T]
"""Handles a request at the server."""

_ENDED: Final = frozenset({SessionState.CLOSED, SessionState.EXPIRED})
_RECONNECT_MS: Final = 100.0


class _LeftWatch:
    """A watch of one request, which is called once."""

    __slots__ = ("call", "is_data")

    def __init__(self, call: Watch, *, is_data: bool) -> None:
        self.call = call
        self.is_data = is_data


class _Call:
    """A request: its work at the server, its watch and its future."""

    __slots__ = ("future", "path", "serve", "watch")

    def __init__(
        self,
        path: str,
        serve: "Serve[object]",
        *,
        watch: _LeftWatch | None,
        future: "asyncio.Future[object]",
    ) -> None:
        self.path = path
        self.serve = serve
        self.watch = watch
        self.future = future

    def fail(self, error: ZooKeeperError) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class MemoryZooKeeperClient:
    """The ZooKeeperClient port over a server in memory."""

    def __init__(
        self, server: MemoryZooKeeper, *, session_timeout_ms: float = 6_000, window: int = 100
    ) -> None:
        self._server = server
        self._timeout_ms = session_timeout_ms
        self._window = window
        self._state = SessionState.CLOSED
        self._session_id = NO_SESSION
        self._listeners = list[StateListener]()
        self._connection: MemoryConnection | None = None
        self._is_reachable = True
        self._waiting = deque[_Call]()
        self._sent = dict[_Call, None]()
        self._watches = dict[_LeftWatch, None]()
        #: Called when a request is sent.
        self.on_send: Callable[[], object] = lambda: None
        server.on_stop.append(self.break_connection)

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def requests_on_the_way(self) -> int:
        """The number of requests without a response."""
        return len(self._sent)

    def listen(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    def start(self) -> None:
        assert self._state in _ENDED, f"a session is {self._state.value}"
        self._state, self._session_id = SessionState.SUSPENDED, NO_SESSION
        self._connect(NO_SESSION)

    async def close(self) -> None:
        connection, session_id = self._connection, self._session_id
        self._state, self._connection = SessionState.CLOSED, None
        self._watches.clear()
        self._fail_all()
        if connection is not None and connection.is_open:
            closed = asyncio.get_running_loop().create_future()
            connection.send(lambda: self._server.expire(session_id))
            connection.send(lambda: connection.respond(lambda: closed.set_result(None)))
            await closed

    # -- faults

    def break_connection(self, arriving: int = 0) -> None:
        """Break the connection; the first `arriving` requests on the way still arrive."""
        connection = self._connection
        if connection is None:
            return
        self._connection = None
        connection.cut(arriving)
        self._server.disconnect(connection)
        is_connected = self._state is SessionState.CONNECTED
        if is_connected:
            self._suspend()
        self._server.later(_RECONNECT_MS, partial(self._reconnect, self._session_id))

    def cut(self, arriving: int = 0) -> None:
        """Break the connection, and prevent the next ones."""
        self._is_reachable = False
        self.break_connection(arriving)

    def heal(self) -> None:
        """Permit connections again."""
        self._is_reachable = True

    # -- requests

    def get(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[StoredNode]":
        return self._call(path, lambda _: self._server.tree.get(path), watch=_data(watch))

    def exists(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[NodeStat | None]":
        def serve(_: MemoryConnection) -> NodeStat | None:
            try:
                return self._server.tree.get(path).stat
            except NoNodeError:
                return None

        return self._call(path, serve, watch=_data(watch))

    def children(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[list[str]]":
        left = None if watch is None else _LeftWatch(watch, is_data=False)
        return self._call(path, lambda _: self._server.tree.children(path), watch=left)

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "asyncio.Future[CreatedNode]":
        def serve(connection: MemoryConnection) -> CreatedNode:
            operation = CreateOp(path, data, ephemeral, sequential)
            created = cast("str", self._server.write(connection, [operation])[0])
            return CreatedNode(created, self._server.tree.get(created).stat)

        return self._call(path, serve)

    def set(
        self, path: str, data: bytes, *, version: int = MATCH_ANY_VERSION
    ) -> "asyncio.Future[NodeStat]":
        return self._write(path, [SetDataOp(path, data, version)], NodeStat)

    def delete(self, path: str, *, version: int = MATCH_ANY_VERSION) -> "asyncio.Future[None]":
        return self._write(path, [DeleteOp(path, version)], type(None))

    def multi(self, operations: Sequence[MultiOp]) -> "asyncio.Future[list[MultiResult]]":
        taken = list(operations)
        return self._call("", lambda connection: self._server.write(connection, taken))

    def _write(self, path: str, operations: list[MultiOp], kind: type[T]) -> "asyncio.Future[T]":
        def serve(connection: MemoryConnection) -> T:
            result = self._server.write(connection, operations)[0]
            assert isinstance(result, kind)
            return result

        return self._call(path, serve)

    def _call(
        self, path: str, serve: Serve[T], *, watch: _LeftWatch | None = None
    ) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        call = _Call(path, serve, watch=watch, future=cast("asyncio.Future[object]", future))
        if self._state in _ENDED:
            call.fail(SessionExpiredError(path))
        else:
            self._waiting.append(call)
            self._send_waiting()
        return future

    def _send_waiting(self) -> None:
        while self._state is SessionState.CONNECTED and len(self._sent) < self._window:
            if not self._waiting:
                return
            self._send(self._waiting.popleft())

    def _send(self, call: _Call) -> None:
        connection = self._connection
        assert connection is not None, "a connected client has a connection"
        self._sent[call] = None
        connection.send(partial(self._serve, connection, call))
        self.on_send()

    def _serve(self, connection: MemoryConnection, call: _Call) -> None:
        """Handle a request at the server."""
        if not self._server.is_served(connection):
            return
        try:
            result = call.serve(connection)
        except ZooKeeperError as error:
            refusal = error
            connection.respond(lambda: self._finish(call, lambda: call.fail(refusal)))
            return
        left = call.watch
        if left is not None:
            leave = connection.watch_data if left.is_data else connection.watch_children
            leave(call.path, partial(self._call_watch, left))
        connection.respond(lambda: self._succeed(call, result))

    def _succeed(self, call: _Call, result: object) -> None:
        if call.watch is not None:
            self._watches[call.watch] = None
        self._finish(call, lambda: call.future.set_result(result))

    def _finish(self, call: _Call, finish: Callable[[], object]) -> None:
        self._sent.pop(call, None)
        if not call.future.done():
            finish()
        self._send_waiting()

    def _call_watch(self, left: _LeftWatch) -> None:
        if left in self._watches:
            del self._watches[left]
            left.call()

    # -- the session

    def _reconnect(self, session_id: int) -> None:
        if self._state is SessionState.SUSPENDED and self._connection is None:
            self._connect(session_id)

    def _connect(self, session_id: int) -> None:
        if not (self._is_reachable and self._server.is_up):
            self._server.later(_RECONNECT_MS, partial(self._reconnect, session_id))
            return
        connection = self._connection = MemoryConnection(self._server, self.break_connection)

        def opened() -> None:
            found = self._server.open(connection, session_id, timeout_ms=self._timeout_ms)
            connection.respond(lambda: self._on_opened(connection, found))

        connection.send(opened)

    def _on_opened(self, connection: MemoryConnection, session_id: int) -> None:
        if connection is not self._connection or self._state is SessionState.CLOSED:
            return
        if session_id == NO_SESSION:
            self._connection = None
            self._expire()
            return
        self._session_id, self._state = session_id, SessionState.CONNECTED
        self._send_waiting()
        self._notify()

    def _suspend(self) -> None:
        self._state = SessionState.SUSPENDED
        sent, self._sent = self._sent, {}
        for call in sent:
            call.fail(ConnectionLossError(call.path))
        self._notify()
        for left in list(self._watches):
            self._call_watch(left)

    def _expire(self) -> None:
        self._state = SessionState.EXPIRED
        self._fail_all()
        self._notify()

    def _fail_all(self) -> None:
        sent, self._sent = self._sent, {}
        waiting, self._waiting = self._waiting, deque()
        for call in sent:
            call.fail(ConnectionLossError(call.path))
        for call in waiting:
            call.fail(SessionExpiredError(call.path))

    def _notify(self) -> None:
        state = self._state
        for listener in self._listeners:
            listener(state)


def _data(watch: Watch | None) -> _LeftWatch | None:
    return None if watch is None else _LeftWatch(watch, is_data=True)
