"""Port to ZooKeeper: requests, watches and the session (Kafka: `kafka.zookeeper.ZooKeeperClient`).

    start ──► SUSPENDED ──► CONNECTED ──► EXPIRED ──► start: a new session
                   ▲            │            ▲
                   └── no connection         └── the server has ended the session

A request is sent by its call, and not by the wait for its result: requests without a wait between
them are a pipeline. The server handles the requests of a session in the order of the calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

#: Expected version of a change that accepts any version.
MATCH_ANY_VERSION: Final = -1
#: Session id without a session, and owner of a node that is not ephemeral.
NO_SESSION: Final = 0


class SessionState(Enum):
    """State of a session."""

    #: No session: before `start`, and after `close`.
    CLOSED = "closed"
    #: No connection: before the first one, and after each lost one. Requests wait.
    SUSPENDED = "suspended"
    CONNECTED = "connected"
    #: The server has ended the session. Requests fail until the next `start`.
    EXPIRED = "expired"


class NodeStat(NamedTuple):
    """Facts of a node (ZooKeeper: `Stat`)."""

    #: Transaction that created the node; the broker epoch of a registration.
    czxid: int
    #: Transaction that last changed its data.
    mzxid: int
    #: Number of changes of its data.
    version: int
    #: Session whose end removes the node.
    ephemeral_owner: int
    #: Wall clock of the server at the creation.
    created_ms: int


class StoredNode(NamedTuple):
    """Data and facts of a node."""

    data: bytes
    stat: NodeStat


class CreatedNode(NamedTuple):
    """Path of a new node, with the number of a sequential one, and its facts."""

    path: str
    stat: NodeStat


class CreateOp(NamedTuple):
    """Creation of a node within a `multi`; its result is the path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class SetDataOp(NamedTuple):
    """Change of a node within a `multi`; its result is the new NodeStat."""

    path: str
    data: bytes
    version: int = MATCH_ANY_VERSION


class DeleteOp(NamedTuple):
    """Removal of a node within a `multi`; its result is None."""

    path: str
    version: int = MATCH_ANY_VERSION


class CheckOp(NamedTuple):
    """Condition of a `multi`: the node has this version; its result is None."""

    path: str
    version: int


MultiOp: TypeAlias = CreateOp | SetDataOp | DeleteOp | CheckOp
MultiResult: TypeAlias = str | NodeStat | None
Watch: TypeAlias = Callable[[], object]
StateListener: TypeAlias = Callable[[SessionState], object]


class ZooKeeperClient(Protocol):
    """Client with one session at a time, owned by an event loop. No call blocks the loop.

    A request waits while the session is suspended. It raises ConnectionLossError if the connection
    breaks after it was sent: a change may then exist or not. It raises SessionExpiredError if the
    session has ended, and then the server never receives it later. All other errors come from the
    server, whose nodes are unchanged.

    A watch is called once, on the loop: after the change that it waits for, or when the connection
    or the session ends. It does not describe the change; its owner reads again. The reading
    of a changed node never arrives before the call of a watch for that change. A watch is not left
    by a request that fails. After `close` no watch is called.
    """

    @property
    def state(self) -> SessionState:
        """Return the state of the session, as far as the loop has been notified."""

    @property
    def session_id(self) -> int:
        """Return the id of the session, which owns its ephemeral nodes; NO_SESSION before one."""

    def listen(self, listener: StateListener) -> None:
        """Call the listener on the loop after each change of the state.

        The end of a session, EXPIRED, is reported once. `start` and `close` are not reported.
        """

    def start(self) -> None:
        """Begin a session, from the states CLOSED and EXPIRED; the connection follows later."""

    async def close(self) -> None:
        """End the session at the server if it is connected, which removes its ephemeral nodes."""

    def get(self, path: str, *, watch: Watch | None = None) -> Awaitable[StoredNode]:
        """Read a node; NoNodeError if it does not exist. Watch its data and its removal."""

    def exists(self, path: str, *, watch: Watch | None = None) -> Awaitable[NodeStat | None]:
        """Read the facts of a node, None if it does not exist.

        Watch its data and its removal, or its creation.
        """

    def children(self, path: str, *, watch: Watch | None = None) -> Awaitable[list[str]]:
        """Read the names of a node's children, sorted; NoNodeError if it does not exist.

        Watch the set of names, and the removal of the node.
        """

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> Awaitable[CreatedNode]:
        """Create a node. An ephemeral one ends with the session.

        The name of a sequential one gets ten digits, which grow with each new child of its parent.
        NodeExistsError, NoNodeError without its parent, NoChildrenForEphemeralsError.
        """

    def set(
        self, path: str, data: bytes, *, version: int = MATCH_ANY_VERSION
    ) -> Awaitable[NodeStat]:
        """Change the data of a node; NoNodeError, BadVersionError."""

    def delete(self, path: str, *, version: int = MATCH_ANY_VERSION) -> Awaitable[None]:
        """Remove a node; NoNodeError, BadVersionError, NotEmptyError."""

    def multi(self, operations: Sequence[MultiOp]) -> Awaitable[list[MultiResult]]:
        """Apply all operations in order in one transaction, or none; return a result for each.

        The error is that of the first impossible operation, with its path and its index.
        """
