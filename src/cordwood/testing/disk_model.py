"""Files and directories in two states: as programs see them, and as they are on the medium.

`apply` makes an operation visible, `carry_over` makes it durable. An operation may become durable
without earlier ones, as on a disk that reorders writes. It then has the effect that is still
possible.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from cordwood.core.types import TimestampMs


class FileNode:
    """Contents of a file."""

    __slots__ = ("durable", "modified_ms", "now")

    def __init__(self, modified_ms: TimestampMs) -> None:
        self.now = bytearray()
        self.durable = bytearray()
        self.modified_ms = modified_ms

    def revert(self) -> None:
        """Reset the visible contents to the durable ones."""
        self.now = bytearray(self.durable)

    def used_bytes(self) -> int:
        return len(self.now)


class DirectoryNode:
    """Names in a directory."""

    __slots__ = ("durable", "now")

    def __init__(self) -> None:
        self.now: dict[str, DiskNode] = {}
        self.durable: dict[str, DiskNode] = {}

    def revert(self) -> None:
        """Reset the visible names to the durable ones, here and below."""
        self.now = dict(self.durable)
        for node in self.now.values():
            node.revert()

    def used_bytes(self) -> int:
        return sum(node.used_bytes() for node in self.now.values())


DiskNode: TypeAlias = FileNode | DirectoryNode
DirectoryEntry: TypeAlias = tuple[DirectoryNode, str]
_NamesEntry: TypeAlias = tuple[dict[str, DiskNode], str]


class TornWrite(NamedTuple):
    """Bytes of a write that are lost: from `first` up to `end`, by default up to its own end.

    Pages reach a disk in any order, so a loss may be anywhere in the write. The lost range keeps
    its former contents. With `is_zeroed` it reads as zeros: the file system had allocated the
    blocks without writing them.
    """

    first: int
    end: int | None = None
    is_zeroed: bool = False


class DiskOperation:
    """One change of a file's contents or of a directory's names.

    `nodes` are the file or the directories that it changes, `written` the byte range of a write.
    """

    __slots__ = ("_carry_over", "apply", "description", "directories", "nodes", "written")

    def __init__(
        self,
        description: str,
        *,
        apply: Callable[[], None],
        carry_over: Callable[[TornWrite | None], None],
        node: FileNode | None = None,
        directories: tuple[DirectoryNode, ...] = (),
        written: range | None = None,
    ) -> None:
        self.description = description
        self.apply = apply
        self.directories = directories
        self.nodes: tuple[DiskNode, ...] = (
            tuple(dict.fromkeys(directories)) if node is None else (node,)
        )
        self.written = written
        self._carry_over = carry_over

    def carry_over(self, loss: TornWrite | None = None) -> None:
        """Apply the change to the medium; a write without its lost range."""
        self._carry_over(loss)

    @classmethod
    def write(cls, node: FileNode, path: str, *, position: int, data: bytes) -> "DiskOperation":
        """Write `data` at `position`, with zeros before it where the file was shorter."""
        return cls(
            f"write {len(data)} bytes at {position} of {path}",
            apply=lambda: _put(node.now, position, data),
            carry_over=lambda loss: _put_rest(node.durable, position, data, loss=loss),
            node=node,
            written=range(position, position + len(data)),
        )

    @classmethod
    def resize(cls, node: FileNode, path: str, *, size: int) -> "DiskOperation":
        """Truncate the file, or extend it with zeros."""
        return cls(
            f"resize {path} to {size} bytes",
            apply=lambda: _fit(node.now, size),
            carry_over=lambda _: _fit(node.durable, size),
            node=node,
        )

    @classmethod
    def name(cls, place: DirectoryEntry, path: str, *, node: DiskNode) -> "DiskOperation":
        """Add a name for a node."""
        directory, name = place
        return cls(
            f"name {path}",
            apply=lambda: directory.now.update({name: node}),
            carry_over=lambda _: directory.durable.update({name: node}),
            directories=(directory,),
        )

    @classmethod
    def unname(cls, place: DirectoryEntry, path: str) -> "DiskOperation":
        """Remove a name."""
        directory, name = place
        return cls(
            f"unname {path}",
            apply=lambda: _drop(directory.now, name),
            carry_over=lambda _: _drop(directory.durable, name),
            directories=(directory,),
        )

    @classmethod
    def rename(
        cls, source: DirectoryEntry, target: DirectoryEntry, *, paths: str
    ) -> "DiskOperation":
        """Rename a node, replacing a node with the new name."""
        (old, old_name), (new, new_name) = source, target
        node = old.now.get(old_name)
        return cls(
            f"rename {paths}",
            apply=lambda: _move(node, (old.now, old_name), (new.now, new_name)),
            carry_over=lambda _: _move(node, (old.durable, old_name), (new.durable, new_name)),
            directories=(old, new),
        )


class DurableState:
    """Saved state of the medium, to be restored after operations were tried on it."""

    def __init__(self, root: DirectoryNode, operations: Iterable[DiskOperation]) -> None:
        self._files: list[tuple[FileNode, bytes]] = []
        self._directories: list[tuple[DirectoryNode, dict[str, DiskNode]]] = []
        self._seen: set[int] = set()
        self._keep(root)
        for operation in operations:  # a changed node may have lost its last name
            for node in operation.nodes:
                self._keep(node)

    def _keep(self, node: DiskNode) -> None:
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, FileNode):
            self._files.append((node, bytes(node.durable)))
            return
        self._directories.append((node, dict(node.durable)))
        for inside in (*node.durable.values(), *node.now.values()):
            self._keep(inside)

    def restore(self) -> None:
        for file, contents in self._files:
            file.durable = bytearray(contents)
        for directory, names in self._directories:
            directory.durable = dict(names)


def copy_of_durable(node: DirectoryNode) -> DirectoryNode:
    """Return a directory whose visible and durable states are this one's durable state."""
    copy = DirectoryNode()
    for name, inside in node.durable.items():
        copy.durable[name] = _copy_of(inside)
    copy.now = dict(copy.durable)
    return copy


def copy_of_present(node: DirectoryNode) -> DirectoryNode:
    """Return a directory whose visible and durable states are this one's visible state."""
    copy = DirectoryNode()
    for name, inside in node.now.items():
        if isinstance(inside, DirectoryNode):
            copy.now[name] = copy_of_present(inside)
        else:
            copy.now[name] = _file_of(inside.now, inside.modified_ms)
    copy.durable = dict(copy.now)
    return copy


def _copy_of(node: DiskNode) -> DiskNode:
    if isinstance(node, DirectoryNode):
        return copy_of_durable(node)
    return _file_of(node.durable, node.modified_ms)


def _file_of(contents: bytearray, modified_ms: TimestampMs) -> FileNode:
    made = FileNode(modified_ms)
    made.now, made.durable = bytearray(contents), bytearray(contents)
    return made


def _put_rest(contents: bytearray, position: int, data: bytes, *, loss: TornWrite | None) -> None:
    """Write the bytes that are not lost; a file never has a gap before a byte."""
    first, end, is_zeroed = loss or TornWrite(len(data))
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


def _drop(names: dict[str, DiskNode], name: str) -> None:
    names.pop(name, None)


def _move(node: DiskNode | None, source: _NamesEntry, target: _NamesEntry) -> None:
    """Move the name of `node`; another node that has the old name by then keeps it."""
    (old, old_name), (new, new_name) = source, target
    if node is not None and old.get(old_name) is node:
        del old[old_name]
        new[new_name] = node
