"""Tree of versioned nodes, as in ZooKeeper, and the changes to it.

    path     / and names separated by /: /brokers/topics/orders
    version  0 for a new node, incremented with each `set`
    create   the node must not exist, its parent must; the root always exists
    set      the node must exist, in the expected version
    delete   as set, and the node must have no children

A list of changes is applied completely or not at all: `plan` computes its effects without changing
the tree.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import MetadataConflictError

#: Expected version of a change that accepts any version.
ANY_VERSION: Final = -1
_ROOT: Final = ""


class ZNode(NamedTuple):
    """Data and version of a node."""

    data: bytes
    version: int = 0


class CreateZNode(NamedTuple):
    """Creation of a node."""

    path: str
    data: bytes = b""


class SetZNode(NamedTuple):
    """New data for a node."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class DeleteZNode(NamedTuple):
    """Removal of a node."""

    path: str
    version: int = ANY_VERSION


ZNodeChange: TypeAlias = CreateZNode | SetZNode | DeleteZNode
ZNodeEffects: TypeAlias = Mapping[str, ZNode | None]
"""New state of each changed node, by path; None for a deleted one."""


class ZNodeTree:
    """Existing nodes; not thread-safe."""

    def __init__(self) -> None:
        self._nodes: dict[str, ZNode] = {}
        self._names: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[tuple[str, ZNode]]:
        """Yield paths with their nodes, parents first."""
        return iter(sorted(self._nodes.items()))

    def get(self, path: str) -> ZNode | None:
        """Return a node, None if it does not exist."""
        return self._nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Return the names of a node's children, sorted."""
        return sorted(self._names.get(path.rstrip("/"), ()))

    def plan(self, changes: Sequence[ZNodeChange]) -> ZNodeEffects:
        """Return the effects of changes; MetadataConflictError if one of them is not possible."""
        planned = _PlannedChanges(self)
        for change in changes:
            planned.add(change)
        return planned.effects

    def apply(self, effects: ZNodeEffects) -> None:
        """Apply planned effects."""
        for path, node in effects.items():
            parent, _, name = path.rpartition("/")
            siblings = self._names.setdefault(parent, set())
            if node is not None:
                self._nodes[path] = node
                siblings.add(name)
            else:
                self._nodes.pop(path, None)
                self._names.pop(path, None)
                siblings.discard(name)


class _PlannedChanges:
    """Tree with planned changes on top, invisible to readers of the tree."""

    def __init__(self, tree: ZNodeTree) -> None:
        self._tree = tree
        self.effects: dict[str, ZNode | None] = {}

    def add(self, change: ZNodeChange) -> None:
        path = change.path
        if isinstance(change, CreateZNode):
            self._ensure_room(path)
            self.effects[path] = ZNode(change.data)
            return
        node = self._existing(path, change.version)
        if isinstance(change, SetZNode):
            self.effects[path] = ZNode(change.data, node.version + 1)
        else:
            self._ensure_leaf(path)
            self.effects[path] = None

    def _find(self, path: str) -> ZNode | None:
        return self.effects[path] if path in self.effects else self._tree.get(path)

    def _ensure_room(self, path: str) -> None:
        parent, slash, name = path.rpartition("/")
        if not slash or not name:
            raise MetadataConflictError("not a node path", path=path)
        if self._find(path) is not None:
            raise MetadataConflictError("the node already exists", path=path)
        if parent != _ROOT and self._find(parent) is None:
            raise MetadataConflictError("the parent node does not exist", path=path)

    def _existing(self, path: str, version: int) -> ZNode:
        node = self._find(path)
        if node is None:
            raise MetadataConflictError("the node does not exist", path=path)
        if version not in {ANY_VERSION, node.version}:
            raise MetadataConflictError(
                f"the node has version {node.version}, not {version}", path=path
            )
        return node

    def _ensure_leaf(self, path: str) -> None:
        below = {f"{path}/{name}" for name in self._tree.children(path)}
        below |= {each for each in self.effects if each.rpartition("/")[0] == path}
        if any(self._find(each) is not None for each in below):
            raise MetadataConflictError("the node has children", path=path)
