"""Files and directories twice: as they look now, and as they are on the medium.

`apply` makes an operation visible, `carry_over` makes it durable. The second may come without those
that were applied before it, as on a disk that writes in an order of its own: then it does what
still makes sense.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from cordwood.core.types import TimestampMs


class FileNode:
    """The contents of a file."""

    __slots__ = ("durable", "modified_ms", "now")

    def __init__(self, modified_ms: TimestampMs) -> None:
        self.now = bytearray()
        self.durable = bytearray()
        self.modified_ms = modified_ms

    def revert(self) -> None:
        """Make the medium the present."""
        self.now = bytearray(self.durable)

    def used_bytes(self) -> int:
        return len(self.now)


class Directory:
    """The names in a directory."""

    __slots__ = ("durable", "now")

    def __init__(self) -> None:
        self.now: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}

    def revert(self) -> None:
        """Make the medium the present, here and below."""
        self.now = dict(self.durable)
        for node in self.now.values():
            node.revert()

    def used_bytes(self) -> int:
        return sum(node.used_bytes() for node in self.now.values())


Node: TypeAlias = FileNode | Directory
Place: TypeAlias = tuple[Directory, str]
_Name: TypeAlias = tuple[dict[str, Node], str]


class Loss(NamedTuple):
    """Which bytes of a write do not arrive: from `first` up to `end`, or its own end without one.

    Pages reach a disk in any order, so what is lost may lie anywhere in the write. In its place is
    what was there before or, `is_zeroed`, zeros: the file system had made room and not filled it.
    """

    first: int
    end: int | None = None
    is_zeroed: bool = False


class Operation:
    """One change. `change` does it to contents or to names, now or on the medium.

    Of a write `written` says which bytes of the file it is about.
    """

    __slots__ = ("_carry_over", "apply", "description", "directories", "node", "written")

    def __init__(
        self,
        description: str,
        *,
        apply: Callable[[], None],
        carry_over: Callable[[Loss | None], None],
        node: FileNode | None = None,
        directories: tuple[Directory, ...] = (),
        written: range | None = None,
    ) -> None:
        self.description = description
        self.apply = apply
        self.node = node
        self.directories = directories
        self.written = written
        self._carry_over = carry_over

    def carry_over(self, loss: Loss | None = None) -> None:
        """Do to the medium what `apply` did to the present; of a write, all but its loss."""
        self._carry_over(loss)

    @classmethod
    def write(cls, node: FileNode, path: str, *, position: int, data: bytes) -> "Operation":
        """Put `data` at `position`, with zeros before it where the file was shorter."""
        return cls(
            f"write {len(data)} bytes at {position} of {path}",
            apply=lambda: _put(node.now, position, data),
            carry_over=lambda loss: _put_rest(node.durable, position, data, loss=loss),
            node=node,
            written=range(position, position + len(data)),
        )

    @classmethod
    def resize(cls, node: FileNode, path: str, *, size: int) -> "Operation":
        """Cut the file, or let it grow with zeros."""
        return cls(
            f"resize {path} to {size} bytes",
            apply=lambda: _fit(node.now, size),
            carry_over=lambda _: _fit(node.durable, size),
            node=node,
        )

    @classmethod
    def name(cls, place: Place, path: str, *, node: Node) -> "Operation":
        """Give a node a name."""
        directory, name = place
        return cls(
            f"name {path}",
            apply=lambda: directory.now.update({name: node}),
            carry_over=lambda _: directory.durable.update({name: node}),
            directories=(directory,),
        )

    @classmethod
    def unname(cls, place: Place, path: str) -> "Operation":
        """Take a name away."""
        directory, name = place
        return cls(
            f"unname {path}",
            apply=lambda: _drop(directory.now, name),
            carry_over=lambda _: _drop(directory.durable, name),
            directories=(directory,),
        )

    @classmethod
    def rename(cls, source: Place, target: Place, *, paths: str) -> "Operation":
        """Move a name, replacing what had the new one."""
        (old, old_name), (new, new_name) = source, target
        node = old.now.get(old_name)
        return cls(
            f"rename {paths}",
            apply=lambda: _move(node, (old.now, old_name), (new.now, new_name)),
            carry_over=lambda _: _move(node, (old.durable, old_name), (new.durable, new_name)),
            directories=(old, new),
        )


class Durable:
    """What the medium holds, kept so that it can be put back after operations were tried on it."""

    def __init__(self, root: Directory, operations: Iterable[Operation]) -> None:
        self._files: list[tuple[FileNode, bytes]] = []
        self._directories: list[tuple[Directory, dict[str, Node]]] = []
        self._seen: set[int] = set()
        self._keep(root)
        for operation in operations:  # what they change need not have a name any more
            for node in (*operation.directories, operation.node):
                if node is not None:
                    self._keep(node)

    def _keep(self, node: Node) -> None:
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, FileNode):
            self._files.append((node, bytes(node.durable)))
            return
        self._directories.append((node, dict(node.durable)))
        for inside in (*node.durable.values(), *node.now.values()):
            self._keep(inside)

    def put_back(self) -> None:
        for file, contents in self._files:
            file.durable = bytearray(contents)
        for directory, names in self._directories:
            directory.durable = dict(names)


def copy_of_medium(node: Directory) -> Directory:
    """Return a directory that holds, now and on its medium, what is on the medium of this one."""
    copy = Directory()
    for name, inside in node.durable.items():
        copy.durable[name] = _copy_of(inside)
    copy.now = dict(copy.durable)
    return copy


def copy_of_present(node: Directory) -> Directory:
    """Return a directory that holds, now and on its medium, what this one shows."""
    copy = Directory()
    for name, inside in node.now.items():
        if isinstance(inside, Directory):
            copy.now[name] = copy_of_present(inside)
        else:
            copy.now[name] = _file_of(inside.now, inside.modified_ms)
    copy.durable = dict(copy.now)
    return copy


def names_changed(start: Directory, operations: Iterable[Operation]) -> list[Directory]:
    """Return `start` and every directory that renames join to it."""
    joined = [start]
    for directory in joined:
        for operation in operations:
            if any(where is directory for where in operation.directories):
                joined += [new for new in operation.directories if new not in joined]
    return joined


def _copy_of(node: Node) -> Node:
    if isinstance(node, Directory):
        return copy_of_medium(node)
    return _file_of(node.durable, node.modified_ms)


def _file_of(contents: bytearray, modified_ms: TimestampMs) -> FileNode:
    made = FileNode(modified_ms)
    made.now, made.durable = bytearray(contents), bytearray(contents)
    return made


def _put_rest(contents: bytearray, position: int, data: bytes, *, loss: Loss | None) -> None:
    """Put what is not lost, and no byte of a file is there without those before it."""
    first, end, is_zeroed = loss or Loss(len(data))
    stop = len(data) if end is None else min(end, len(data))
    _put(contents, position, data[:first])
    if is_zeroed:
        _put(contents, position + first, bytes(stop - first))
    _put(contents, position + stop, data[stop:])


def _put(contents: bytearray, position: int, data: bytes) -> None:
    if data:
        _fit(contents, max(len(contents), position))
        contents[position : position + len(data)] = data


def _fit(contents: bytearray, size: int) -> None:
    del contents[size:]
    contents.extend(bytes(size - len(contents)))


def _drop(names: dict[str, Node], name: str) -> None:
    names.pop(name, None)


def _move(node: Node | None, source: _Name, target: _Name) -> None:
    """Move the name of `node`; another one that has the old name by now, or still, keeps it."""
    (old, old_name), (new, new_name) = source, target
    if node is not None and old.get(old_name) is node:
        del old[old_name]
        new[new_name] = node
