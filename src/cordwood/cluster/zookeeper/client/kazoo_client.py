"""Client of ZooKeeper over kazoo, the only module that imports it.

    loop ──► window ──► kazoo's queue ──► kazoo's connection thread ──► server
    loop ◄── call_soon_threadsafe ◄── kazoo's completion thread ◄──────┘

kazoo calls back from threads of its own, which reach the loop through `call_soon_threadsafe` alone.
All its callbacks go through one of its queues, so that results, watches and states keep the order
in which they occurred.

A KazooClient has one session here. kazoo itself reconnects, also after the end of the session, and
would send requests of the old session in the new one; `_SessionHandler` prevents that connection.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Generic, TypeVar, cast

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient as Kazoo
from kazoo.client import TransactionRequest
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol.states import Callback, KazooState, ZnodeStat
from kazoo.retry import KazooRetry

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
    BadVersionError,
    ConnectionLossError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    ZooKeeperError,
)
from cordwood.core.ports import Lane, Pending, Worker

T = TypeVar("T")

#: Requests in kazoo's queue. kazoo wakes its thread with a byte per request through a blocking
#: socket pair, which has room for some 270 of them; a full one would block the loop.
_WINDOW: Final = 100
_RECONNECT_DELAY_S: Final = 0.1
_LONGEST_RECONNECT_DELAY_S: Final = 1.0

_ERRORS: Final = (
    (kazoo_errors.NoNodeError, NoNodeError),
    (kazoo_errors.NodeExistsError, NodeExistsError),
    (kazoo_errors.BadVersionError, BadVersionError),
    (kazoo_errors.NotEmptyError, NotEmptyError),
    (kazoo_errors.NoChildrenForEphemeralsError, NoChildrenForEphemeralsError),
    (kazoo_errors.ConnectionLoss, ConnectionLossError),
    (kazoo_errors.ConnectionClosedError, ConnectionLossError),
    (kazoo_errors.SessionExpiredError, SessionExpiredError),
)
_STATES: Final = {
    KazooState.CONNECTED: SessionState.CONNECTED,
    KazooState.SUSPENDED: SessionState.SUSPENDED,
    KazooState.LOST: SessionState.EXPIRED,
}
_ENDED: Final = frozenset({SessionState.CLOSED, SessionState.EXPIRED})


class _SessionHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Threads of one session: one order for all callbacks, and no connection after its end."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = False

    def create_connection(self, *args: object, **kwargs: object) -> object:
        """Connect, as kazoo does; OSError, which kazoo retries, after the end of the session."""
        if self.is_over:
            raise OSError("the session is over")
        return super().create_connection(*args, **kwargs)

    def dispatch_callback(self, callback: Callback) -> None:
        """Call a watch in the order of the results."""
        self.completion_queue.put(lambda: callback.func(*callback.args))


class _KazooRequest(Generic[T]):
    """A request, from its call until its result."""

    __slots__ = ("convert", "future", "path", "send")

    def __init__(
        self,
        path: str,
        send: Callable[[Kazoo], AsyncResult],
        convert: Callable[[AsyncResult], T],
        future: "asyncio.Future[T]",
    ) -> None:
        self.path = path
        self.send = send
        self.convert = convert
        self.future = future

    def fail(self, error: ZooKeeperError) -> None:
        """Raise an error at the caller, unless it no longer waits."""
        if not self.future.done():
            self.future.set_exception(error)

    def finish(self, result: AsyncResult) -> None:
        """Convert the result of kazoo, which may report a second error for one request."""
        if self.future.done():
            return
        try:
            self.future.set_result(self.convert(result))
        except ZooKeeperError as error:
            self.future.set_exception(error)
        except kazoo_errors.KazooException as error:
            self.future.set_exception(_translated(error, self.path))


class KazooZooKeeperClient:
    """The ZooKeeperClient port over kazoo; `hosts` is Kafka's `zookeeper.connect`."""

    def __init__(
        self,
        hosts: str,
        *,
        session_timeout_ms: int,
        loop: asyncio.AbstractEventLoop,
        worker: Worker,
    ) -> None:
        self._hosts = hosts
        self._session_timeout_ms = session_timeout_ms
        self._loop = loop
        self._worker = worker
        self._listeners = list[StateListener]()
        self._state = SessionState.CLOSED
        self._session_id = NO_SESSION
        self._kazoo: Kazoo = None
        self._waiting = deque[_KazooRequest[object]]()
        #: Requests that kazoo has.
        self._sent = dict[_KazooRequest[object], None]()
        self._stops = list[Pending[None]]()

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def session_id(self) -> int:
        return self._session_id

    def listen(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    def start(self) -> None:
        assert self._state in _ENDED, f"a session is {self._state.value}"
        self._discard()
        handler = _SessionHandler()
        kazoo = Kazoo(
            hosts=self._hosts,
            timeout=self._session_timeout_ms / 1000,
            handler=handler,
            connection_retry=KazooRetry(
                max_tries=-1,
                delay=_RECONNECT_DELAY_S,
                max_delay=_LONGEST_RECONNECT_DELAY_S,
                sleep_func=handler.sleep_func,
            ),
            logger=_quiet_logger(),
        )
        kazoo.add_listener(partial(self._on_kazoo_state, kazoo))
        self._kazoo = kazoo
        self._state, self._session_id = SessionState.SUSPENDED, NO_SESSION
        kazoo.start_async()

    async def close(self) -> None:
        self._end(SessionState.CLOSED)
        self._discard()
        for stop in self._stops:
            ended = asyncio.Event()
            stop.add_done_callback(partial(self._post_ignoring, ended.set))
            await ended.wait()

    # -- requests

    def get(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[StoredNode]":
        call = self._watch(watch)
        return self._call(path, lambda kazoo: kazoo.get_async(path, watch=call), _stored_node)

    def exists(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[NodeStat | None]":
        call = self._watch(watch)
        return self._call(path, lambda kazoo: kazoo.exists_async(path, watch=call), _stat_if_any)

    def children(self, path: str, *, watch: Watch | None = None) -> "asyncio.Future[list[str]]":
        call = self._watch(watch)
        return self._call(path, lambda kazoo: kazoo.get_children_async(path, watch=call), _names)

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "asyncio.Future[CreatedNode]":
        def send(kazoo: Kazoo) -> AsyncResult:
            return kazoo.create_async(
                path, data, ephemeral=ephemeral, sequence=sequential, include_data=True
            )

        return self._call(path, send, _created_node)

    def set(
        self, path: str, data: bytes, *, version: int = MATCH_ANY_VERSION
    ) -> "asyncio.Future[NodeStat]":
        return self._call(path, lambda kazoo: kazoo.set_async(path, data, version), _stat)

    def delete(self, path: str, *, version: int = MATCH_ANY_VERSION) -> "asyncio.Future[None]":
        return self._call(path, lambda kazoo: kazoo.delete_async(path, version), _nothing)

    def multi(self, operations: Sequence[MultiOp]) -> "asyncio.Future[list[MultiResult]]":
        def send(kazoo: Kazoo) -> AsyncResult:
            transaction = kazoo.transaction()
            for each in operations:
                _add(transaction, each)
            return transaction.commit_async()

        return self._call("", send, lambda result: _multi_results(result, operations))

    def _call(
        self,
        path: str,
        send: Callable[[Kazoo], AsyncResult],
        convert: Callable[[AsyncResult], T],
    ) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = self._loop.create_future()
        request = _KazooRequest(path, send, convert, future)
        if self._state in _ENDED:
            request.fail(SessionExpiredError(path))
        else:
            self._waiting.append(cast("_KazooRequest[object]", request))
            self._send_waiting()
        return future

    def _send_waiting(self) -> None:
        # kazoo rejects a request that comes before its thread has begun to connect.
        if self._state is not SessionState.CONNECTED:
            return
        kazoo = self._kazoo
        while self._waiting and len(self._sent) < _WINDOW:
            request = self._waiting.popleft()
            self._sent[request] = None
            request.send(kazoo).rawlink(partial(self._on_kazoo_result, kazoo, request))

    def _finish(self, kazoo: Kazoo, request: _KazooRequest[object], result: AsyncResult) -> None:
        request.finish(result)
        if kazoo is self._kazoo:
            self._sent.pop(request, None)
            self._send_waiting()

    def _watch(self, watch: Watch | None) -> Callable[[object], None] | None:
        if watch is None:
            return None
        kazoo = self._kazoo
        return lambda _: self._post(self._call_watch, kazoo, watch)

    def _call_watch(self, kazoo: Kazoo, watch: Watch) -> None:
        if kazoo is self._kazoo:
            watch()

    # -- the session

    def _change_state(self, kazoo: Kazoo, state: SessionState, session_id: int) -> None:
        if kazoo is not self._kazoo or self._state in _ENDED:
            return
        if state is SessionState.CONNECTED:
            self._session_id = session_id
        if state is SessionState.EXPIRED:
            self._end(state)
        self._state = state
        self._send_waiting()
        for listener in self._listeners:
            listener(state)

    def _end(self, state: SessionState) -> None:
        """End the session for its callers; requests that wait are never sent."""
        self._state = state
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(SessionExpiredError(request.path))

    def _discard(self) -> None:
        """Stop kazoo and its threads on the worker, since that waits for them."""
        kazoo, self._kazoo = self._kazoo, None
        sent, self._sent = self._sent, {}
        if kazoo is None:
            return
        stop = self._worker.submit(partial(_stop, kazoo), lane=Lane.BACKGROUND)
        # kazoo can drop a result while its threads end.
        stop.add_done_callback(partial(self._post_ignoring, partial(_lose, sent)))
        self._stops = [each for each in self._stops if not each.done()] + [stop]

    # -- on kazoo's threads

    def _on_kazoo_state(self, kazoo: Kazoo, state: str) -> None:
        if state == KazooState.LOST:
            kazoo.handler.is_over = True
        client_id = kazoo.client_id
        session_id = client_id[0] if client_id is not None else NO_SESSION
        notify = partial(self._post, self._change_state, kazoo, _STATES[state], session_id)
        kazoo.handler.completion_queue.put(notify)

    def _on_kazoo_result(
        self, kazoo: Kazoo, request: _KazooRequest[object], result: AsyncResult
    ) -> None:
        self._post(self._finish, kazoo, request, result)

    def _post_ignoring(self, call: Callable[[], None], _: object) -> None:
        self._post(call)

    def _post(self, call: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(call, *args)


def _quiet_logger() -> logging.Logger:
    """Return a logger without output: the listeners report each change of the state."""
    logger = logging.getLogger("cordwood.zookeeper")
    logger.propagate = False
    logger.disabled = True
    return logger


def _stop(kazoo: Kazoo) -> None:
    """End the session and the threads."""
    with suppress(kazoo_errors.KazooException, OSError):
        kazoo.stop()
        kazoo.close()


def _lose(sent: Iterable[_KazooRequest[object]]) -> None:
    """Fail the requests that never got a result."""
    for request in sent:
        request.fail(ConnectionLossError(request.path))


def _translated(error: Exception, path: str, *, operation: int | None = None) -> ZooKeeperError:
    """Return the error of the port for one of kazoo's."""
    for kind, ours in _ERRORS:
        if isinstance(error, kind):
            return ours(path, operation=operation)
    translated = ZooKeeperError(path, operation=operation)
    translated.problem = f"the request failed with {type(error).__name__}"
    return translated


def _add(transaction: TransactionRequest, operation: MultiOp) -> None:
    """Add an operation to a transaction of kazoo."""
    if isinstance(operation, CreateOp):
        transaction.create(
            operation.path,
            operation.data,
            ephemeral=operation.ephemeral,
            sequence=operation.sequential,
        )
    elif isinstance(operation, SetDataOp):
        transaction.set_data(operation.path, operation.data, operation.version)
    elif isinstance(operation, DeleteOp):
        transaction.delete(operation.path, operation.version)
    else:
        transaction.check(operation.path, operation.version)


# -- results of kazoo as values of the port


def _node_stat(stat: ZnodeStat) -> NodeStat:
    return NodeStat(stat.czxid, stat.mzxid, stat.version, stat.ephemeralOwner, stat.ctime)


def _stat(result: AsyncResult) -> NodeStat:
    return _node_stat(result.get_nowait())


def _stat_if_any(result: AsyncResult) -> NodeStat | None:
    stat = result.get_nowait()
    return None if stat is None else _node_stat(stat)


def _stored_node(result: AsyncResult) -> StoredNode:
    data, stat = result.get_nowait()
    return StoredNode(data or b"", _node_stat(stat))


def _created_node(result: AsyncResult) -> CreatedNode:
    path, stat = result.get_nowait()
    return CreatedNode(path, _node_stat(stat))


def _names(result: AsyncResult) -> list[str]:
    return sorted(result.get_nowait())


def _nothing(result: AsyncResult) -> None:
    result.get_nowait()


def _multi_results(result: AsyncResult, operations: Sequence[MultiOp]) -> list[MultiResult]:
    """Return the results of a transaction, or raise the error of its impossible operation."""
    found = result.get_nowait()
    for index, each in enumerate(found):
        # The operations before the impossible one are marked too, as rolled back.
        if isinstance(each, Exception) and not isinstance(each, kazoo_errors.RolledBackError):
            raise _translated(each, operations[index].path, operation=index)
    return [_node_stat(each) if isinstance(each, ZnodeStat) else _path(each) for each in found]


def _path(created: object) -> str | None:
    return created if isinstance(created, str) else None
