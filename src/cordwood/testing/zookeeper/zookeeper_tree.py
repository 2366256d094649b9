"""Nodes of ZooKeeper in memory, and transactions on them.

A transaction is applied completely or not at all. Its number, the zxid, is that of all its changes.
The number in the name of a sequential node counts the children that its parent has ever had.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    MATCH_ANY_VERSION,
    NO_SESSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiOp,
    MultiResult,
    NodeStat,
    SetDataOp,
    StoredNode,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    ZooKeeperError,
)

ROOT: Final = "/"


class ChangeKind(Enum):
    """Kind of a change that watches wait for."""

    CREATED = "created"
    DATA = "data"
    DELETED = "deleted"
    CHILDREN = "children"


class NodeChange(NamedTuple):
    """A change of a node."""

    kind: ChangeKind
    path: str


@dataclass(slots=True, kw_only=True)
class _TreeNode:
    data: bytes
    czxid: int
    mzxid: int
    version: int = 0
    owner: int = NO_SESSION
    created_ms: int
    children: set[str] = field(default_factory=set)
    #: Children that the node has ever had.
    created_children: int = 0

    def stat(self) -> NodeStat:
        return NodeStat(self.czxid, self.mzxid, self.version, self.owner, self.created_ms)


class ZooKeeperTree:
    """Existing nodes; the root always exists."""

    def __init__(self) -> None:
        self._nodes = {ROOT: _TreeNode(data=b"", czxid=0, mzxid=0, created_ms=0)}
        self._undo = list[Callable[[], object]]()
        self._changes = list[NodeChange]()
        self.zxid = 0

    def get(self, path: str) -> StoredNode:
        """Return a node; NoNodeError if it does not exist."""
        node = self._existing(path)
        return StoredNode(node.data, node.stat())

    def children(self, path: str) -> list[str]:
        """Return the names of a node's children, sorted; NoNodeError if it does not exist."""
        return sorted(self._existing(path).children)

    def ephemerals(self, session_id: int) -> list[str]:
        """Return the paths of the nodes that end with a session."""
        return sorted(path for path, node in self._nodes.items() if node.owner == session_id)

    def apply(
        self, operations: Sequence[MultiOp], *, session_id: int, now_ms: int
    ) -> tuple[list[MultiResult], list[NodeChange]]:
        """Apply all operations, or none; return their results, and the changes."""
        self._undo, self._changes = [], []
        self.zxid += 1
        results = list[MultiResult]()
        for index, operation in enumerate(operations):
            try:
                results.append(self._apply(operation, session_id, now_ms))
            except ZooKeeperError as error:
                for undo in reversed(self._undo):
                    undo()
                error.operation = index
                raise
        return results, self._changes

    def _apply(self, operation: MultiOp, session_id: int, now_ms: int) -> MultiResult:
        if isinstance(operation, CreateOp):
            owner = session_id if operation.ephemeral else NO_SESSION
            return self._create(operation, owner, now_ms)
        node = self._existing(operation.path)
        if operation.version not in {MATCH_ANY_VERSION, node.version}:
            raise BadVersionError(operation.path)
        if isinstance(operation, SetDataOp):
            return self._set(operation, node)
        if isinstance(operation, DeleteOp):
            self._delete(operation.path, node)
        else:
            assert isinstance(operation, CheckOp)
        return None

    def _create(self, operation: CreateOp, owner: int, now_ms: int) -> str:
        parent_path = _parent(operation.path)
        parent = self._nodes.get(parent_path)
        if parent is None:
            raise NoNodeError(operation.path)
        if parent.owner != NO_SESSION:
            raise NoChildrenForEphemeralsError(operation.path)
        number = f"{parent.created_children:010}" if operation.sequential else ""
        path = f"{operation.path}{number}"
        if path in self._nodes:
            raise NodeExistsError(path)
        self._nodes[path] = _TreeNode(
            data=operation.data, czxid=self.zxid, mzxid=self.zxid, owner=owner, created_ms=now_ms
        )
        self._add_child(parent, path)
        self._undo.append(lambda: (self._nodes.pop(path), self._remove_child(parent, path)))
        self._note(ChangeKind.CREATED, path)
        return path

    def _set(self, operation: SetDataOp, node: _TreeNode) -> NodeStat:
        before = node.data, node.mzxid, node.version

        def undo() -> None:
            node.data, node.mzxid, node.version = before

        node.data, node.mzxid, node.version = operation.data, self.zxid, node.version + 1
        self._undo.append(undo)
        self._changes.append(NodeChange(ChangeKind.DATA, operation.path))
        return node.stat()

    def _delete(self, path: str, node: _TreeNode) -> None:
        if node.children:
            raise NotEmptyError(path)
        parent = self._nodes[_parent(path)]
        created = parent.created_children
        del self._nodes[path]
        parent.children.discard(_name(path))

        def undo() -> None:
            self._nodes[path] = node
            parent.children.add(_name(path))
            parent.created_children = created

        self._undo.append(undo)
        self._note(ChangeKind.DELETED, path)

    def _existing(self, path: str) -> _TreeNode:
        node = self._nodes.get(path)
        if node is None:
            raise NoNodeError(path)
        return node

    def _note(self, kind: ChangeKind, path: str) -> None:
        self._changes.append(NodeChange(kind, path))
        self._changes.append(NodeChange(ChangeKind.CHILDREN, _parent(path)))

    @staticmethod
    def _add_child(parent: _TreeNode, path: str) -> None:
        parent.children.add(_name(path))
        parent.created_children += 1

    @staticmethod
    def _remove_child(parent: _TreeNode, path: str) -> None:
        parent.children.discard(_name(path))
        parent.created_children -= 1


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or ROOT


def _name(path: str) -> str:
    return path.rpartition("/")[2]
