"""A tree of nodes with data and a version each, as ZooKeeper has them, and what changes make of it.

    path     / and names with / between them: /brokers/topics/orders
    version  0 when a node is created, one more each time its data are set
    create   no such node yet, and its parent is there; the root always is
    set      the node is there, in the version that is asked for
    delete   likewise, and nothing is below it

Changes are made all or none: `plan` says what they would make of which nodes, and changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import MetadataConflictError

#: Asks for no version: whatever a node has.
ANY_VERSION: Final = -1
_ROOT: Final = ""


class Node(NamedTuple):
    """What is kept under one path."""

    data: bytes
    version: int = 0


class CreateNode(NamedTuple):
    """A node to be made."""

    path: str
    data: bytes = b""


class SetNode(NamedTuple):
    """Other data for a node."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class DeleteNode(NamedTuple):
    """A node to be removed."""

    path: str
    version: int = ANY_VERSION


NodeChange: TypeAlias = CreateNode | SetNode | DeleteNode
Effects: TypeAlias = Mapping[str, Node | None]
"""What nodes are to be, by path; None where there is to be none."""


class NodeTree:
    """The nodes there are; one thread at a time uses it."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._names: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[tuple[str, Node]]:
        """Yield paths with their nodes, parents first."""
        return iter(sorted(self._nodes.items()))

    def get(self, path: str) -> Node | None:
        """Return a node, None if there is none."""
        return self._nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Return the names below a node, sorted."""
        return sorted(self._names.get(path.rstrip("/"), ()))

    def plan(self, changes: Sequence[NodeChange]) -> Effects:
        """Return what changes would make; MetadataConflictError if one of them cannot be made."""
        planned = _Planned(self)
        for change in changes:
            planned.add(change)
        return planned.effects

    def apply(self, effects: Effects) -> None:
        """Let nodes be what was planned."""
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


class _Planned:
    """A tree with changes on top that nobody else sees."""

    def __init__(self, tree: NodeTree) -> None:
        self._tree = tree
        self.effects: dict[str, Node | None] = {}

    def add(self, change: NodeChange) -> None:
        path = change.path
        if isinstance(change, CreateNode):
            self._ensure_room(path)
            self.effects[path] = Node(change.data)
            return
        node = self._existing(path, change.version)
        if isinstance(change, SetNode):
            self.effects[path] = Node(change.data, node.version + 1)
        else:
            self._ensure_leaf(path)
            self.effects[path] = None

    def _find(self, path: str) -> Node | None:
        return self.effects[path] if path in self.effects else self._tree.get(path)

    def _ensure_room(self, path: str) -> None:
        parent, slash, name = path.rpartition("/")
        if not slash or not name:
            raise MetadataConflictError("this is no path of a node", path=path)
        if self._find(path) is not None:
            raise MetadataConflictError("there is such a node already", path=path)
        if parent != _ROOT and self._find(parent) is None:
            raise MetadataConflictError("there is no node above it", path=path)

    def _existing(self, path: str, version: int) -> Node:
        node = self._find(path)
        if node is None:
            raise MetadataConflictError("there is no such node", path=path)
        if version not in {ANY_VERSION, node.version}:
            raise MetadataConflictError(f"it has version {node.version}, not {version}", path=path)
        return node

    def _ensure_leaf(self, path: str) -> None:
        below = {f"{path}/{name}" for name in self._tree.children(path)}
        below |= {each for each in self.effects if each.rpartition("/")[0] == path}
        if any(self._find(each) is not None for each in below):
            raise MetadataConflictError("there are nodes below it", path=path)
