"""ZooKeeper's server in memory: nodes, sessions and watches, in virtual time.

A session without a connection ends after its timeout, which removes its ephemeral nodes. A
connection reads and writes in order, each message after a delay:

    client ──► requests on the way ──► server ──► responses and watch events ──► client

When a connection breaks, the server still gets the first requests on the way, as many as the test
wants; their responses are lost. So the outcome of a write that was sent is unknown to the client.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    NO_SESSION,
    DeleteOp,
    MultiOp,
    MultiResult,
)
from cordwood.core.ports import Clock, Scheduler, Timer
from cordwood.testing.zookeeper.zookeeper_tree import ChangeKind, NodeChange, ZooKeeperTree

WatchEvent = Callable[[], object]

_DATA_CHANGES = frozenset({ChangeKind.CREATED, ChangeKind.DATA, ChangeKind.DELETED})
_CHILD_CHANGES = frozenset({ChangeKind.CHILDREN, ChangeKind.DELETED})


class _Message:
    """A message on its way; a lost one never arrives."""

    __slots__ = ("call", "is_lost")

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.is_lost = False


class MemoryConnection:
    """One connection of a client; messages of each direction keep their order."""

    def __init__(self, server: "MemoryZooKeeper", on_broken: Callable[[], object]) -> None:
        self.session_id = NO_SESSION
        #: Called at the client when the server has ended the connection.
        self.on_broken = on_broken
        self.is_open = True
        self._server = server
        self._requests = deque[_Message]()
        self._request_ms = 0.0
        self._response_ms = 0.0
        self._data_watches = defaultdict[str, list[WatchEvent]](list)
        self._child_watches = defaultdict[str, list[WatchEvent]](list)

    def send(self, call: Callable[[], object]) -> None:
        """Call at the server, after the calls that were sent before."""
        message = _Message(call)
        self._requests.append(message)
        self._request_ms = self._server.after(self._request_ms, lambda: self._arrive(message))

    def respond(self, call: Callable[[], object]) -> None:
        """Call at the client, unless the connection breaks before."""
        self._response_ms = self._server.after(
            self._response_ms, lambda: call() if self.is_open else None
        )

    def cut(self, arriving: int) -> None:
        """Break the connection; the first `arriving` requests on the way still arrive."""
        self.is_open = False
        self._data_watches.clear()
        self._child_watches.clear()
        for message in list(self._requests)[arriving:]:
            message.is_lost = True

    def watch_data(self, path: str, event: WatchEvent) -> None:
        """Leave a watch for the data, the creation and the removal of a node."""
        self._data_watches[path].append(event)

    def watch_children(self, path: str, event: WatchEvent) -> None:
        """Leave a watch for the children and the removal of a node."""
        self._child_watches[path].append(event)

    def notify(self, change: NodeChange) -> None:
        """Send the events of the watches that wait for a change."""
        events = list[WatchEvent]()
        if change.kind in _DATA_CHANGES:
            events += self._data_watches.pop(change.path, ())
        if change.kind in _CHILD_CHANGES:
            events += self._child_watches.pop(change.path, ())
        for event in events:
            self.respond(event)

    def _arrive(self, message: _Message) -> None:
        self._requests.remove(message)
        if not message.is_lost:
            message.call()


@dataclass(slots=True)
class _Session:
    timeout_ms: float
    connection: MemoryConnection | None = None
    expiry: Timer | None = None


class MemoryZooKeeper:
    """The server. `delay_ms` draws the delay of each message."""

    def __init__(
        self, clock: Clock, scheduler: Scheduler, *, delay_ms: Callable[[], float] = lambda: 1.0
    ) -> None:
        self.tree = ZooKeeperTree()
        self.is_up = True
        self._clock = clock
        self._scheduler = scheduler
        self._delay_ms = delay_ms
        self._sessions = dict[int, _Session]()
        self._session_ids = count(0x1000)
        #: Called by `stop` for each open connection, to break it at its client.
        self.on_stop = list[Callable[[], object]]()

    def after(self, earliest_ms: float, call: Callable[[], object]) -> float:
        """Call after a delay, and not before a time; return the time of the call."""
        at_ms = max(earliest_ms, self._clock.monotonic_ms() + self._delay_ms())
        self._scheduler.call_at(at_ms, call)
        return at_ms

    def later(self, delay_ms: float, call: Callable[[], object]) -> Timer:
        """Call after a delay."""
        return self._scheduler.call_at(self._clock.monotonic_ms() + delay_ms, call)

    # -- sessions

    def open(self, connection: MemoryConnection, session_id: int, *, timeout_ms: float) -> int:
        """Begin a session, or continue one; return its id, NO_SESSION if it has ended."""
        if session_id == NO_SESSION:
            session_id = next(self._session_ids)
            self._sessions[session_id] = _Session(timeout_ms)
        session = self._sessions.get(session_id)
        if session is None:
            return NO_SESSION
        if session.expiry is not None:
            session.expiry.cancel()
        session.connection, session.expiry = connection, None
        connection.session_id = session_id
        if not connection.is_open:
            self.disconnect(connection)
        return session_id

    def disconnect(self, connection: MemoryConnection) -> None:
        """Start the timeout of the session that had this connection."""
        session = self._sessions.get(connection.session_id)
        if session is not None and session.connection is connection:
            self._start_expiry(connection.session_id, session)

    def expire(self, session_id: int) -> None:
        """End a session, which removes its ephemeral nodes and breaks its connection."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        if session.expiry is not None:
            session.expiry.cancel()
        if session.connection is not None:
            session.connection.respond(session.connection.on_broken)
        paths = self.tree.ephemerals(session_id)
        if paths:
            self._write([DeleteOp(path) for path in paths], session_id)

    def stop(self) -> None:
        """Stop the server: all connections break, and no session ends meanwhile."""
        self.is_up = False
        for call in self.on_stop:
            call()
        for session in self._sessions.values():
            if session.expiry is not None:
                session.expiry.cancel()

    def restart(self) -> None:
        """Start the server again; each session has its whole timeout to connect."""
        self.is_up = True
        for session_id, session in self._sessions.items():
            self._start_expiry(session_id, session)

    def _start_expiry(self, session_id: int, session: _Session) -> None:
        if session.expiry is not None:
            session.expiry.cancel()
        session.expiry = self.later(session.timeout_ms, lambda: self.expire(session_id))

    # -- requests

    def is_served(self, connection: MemoryConnection) -> bool:
        """Return whether requests of a connection are handled: its session lives, and has it."""
        session = self._sessions.get(connection.session_id)
        return self.is_up and session is not None and session.connection is connection

    def write(self, connection: MemoryConnection, operations: list[MultiOp]) -> list[MultiResult]:
        """Apply operations for the session of a connection."""
        return self._write(operations, connection.session_id)

    def _write(self, operations: list[MultiOp], session_id: int) -> list[MultiResult]:
        results, changes = self.tree.apply(
            operations, session_id=session_id, now_ms=self._clock.now_ms()
        )
        for change in changes:
            for session in self._sessions.values():
                if session.connection is not None:
                    session.connection.notify(change)
        return results
