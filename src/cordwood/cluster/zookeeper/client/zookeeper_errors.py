"""Errors of ZooKeeper (Kafka: `KeeperException` and its codes).

ConnectionLossError     the connection broke: a read has no result, a write may exist or not
SessionExpiredError     the session is over, with its ephemeral nodes and watches
the others              the server has rejected the request, which changed nothing
"""

from cordwood.core.errors import CordwoodError


class ZooKeeperError(CordwoodError):
    """A request to ZooKeeper that has no result; `operation` is its index within a `multi`."""

    problem = "the request failed"

    def __init__(self, path: str = "", *, operation: int | None = None) -> None:
        super().__init__(path)
        self.path = path
        self.operation = operation

    def __str__(self) -> str:
        """Return the path, then the problem."""
        return f"{self.path or 'ZooKeeper'}: {self.problem}"


class ConnectionLossError(ZooKeeperError):
    """The connection broke before the response came; the server may have made the change."""

    problem = "the connection was lost before the response"


class SessionExpiredError(ZooKeeperError):
    """The session is over; a new session has to begin with new ephemeral nodes and watches."""

    problem = "the session is over"


class NoNodeError(ZooKeeperError):
    """The node, or the parent of a new node, does not exist."""

    problem = "the node or its parent does not exist"


class NodeExistsError(ZooKeeperError):
    """The node already exists."""

    problem = "the node already exists"


class BadVersionError(ZooKeeperError):
    """The node has another version than the expected one."""

    problem = "the node has another version"


class NotEmptyError(ZooKeeperError):
    """The node has children, so it cannot be deleted."""

    problem = "the node has children"


class NoChildrenForEphemeralsError(ZooKeeperError):
    """The parent is ephemeral, so it cannot have children."""

    problem = "an ephemeral node cannot have children"
