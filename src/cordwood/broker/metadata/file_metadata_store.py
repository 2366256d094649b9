"""Metadata store of a standalone broker: a tree of nodes, with a copy in every log directory.

A change counts when it is durable in all copies. A copy that cannot be written is given up, and the
others note that it has none of the later changes. So the next start does not use it, but replaces
it. The last copy is not given up; its changes fail. When most lines are obsolete, new
files with one line a node replace the old ones by renames.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Final, NoReturn, Self, TypeAlias

from cordwood.broker.metadata.metadata_copies import CopyPlace, NewestMetadata, find_newest
from cordwood.broker.metadata.metadata_copy import MetadataCopy
from cordwood.core.errors import KafkaStorageError
from cordwood.core.znodes import ZNode, ZNodeChange, ZNodeTree
from cordwood.storage.checkpoints.metadata_file_format import (
    FORMAT,
    encode_copies,
    encode_line,
    encode_metadata,
)

#: A file is rewritten only if this many of its changes are obsolete, and more than half of them.
_MIN_OBSOLETE: Final = 1000

OnEvent: TypeAlias = Callable[[str], object]


class FileMetadataStore:
    """The MetadataStore port over files; one process at a time has them open.

    `on_event` receives messages for the operator, on any thread.
    """

    def __init__(
        self, tree: ZNodeTree, copies: Sequence[MetadataCopy], *, change: int, on_event: OnEvent
    ) -> None:
        self._tree = tree
        self._copies = [*copies]
        self._change = change
        self._on_event = on_event
        self._written = len(tree)
        self._failure: OSError | None = None
        self._changing = Lock()
        self._looking = Lock()

    @classmethod
    def create(
        cls, places: Sequence[CopyPlace], *, changes: Sequence[ZNodeChange], on_event: OnEvent
    ) -> Self:
        """Create a copy in each place, with `changes` applied to an empty tree."""
        tree = ZNodeTree()
        tree.apply(tree.plan(changes))
        store = cls(tree, [*map(MetadataCopy, places)], change=1, on_event=on_event)
        store._replace_all()
        return store

    @classmethod
    def open(cls, places: Sequence[CopyPlace], *, on_event: OnEvent) -> Self | None:
        """Open the newest copy, and make the other ones equal to it; None if there is no copy.

        DamagedFileError if all copies are damaged, LogDirectoryError if they contradict each other.
        """
        newest = find_newest(places, on_event=on_event)
        if newest is None:
            return None
        content = newest.content
        copies = [*map(MetadataCopy, places)]
        store = cls(content.tree, copies, change=content.change, on_event=on_event)
        store._written = content.lines
        if _is_current(newest, places):
            store._truncate(newest.ends)
        else:
            store._change += 1
            store._replace_all()
        return store

    def get(self, path: str) -> ZNode | None:
        with self._looking:
            return self._tree.get(path)

    def children(self, path: str) -> list[str]:
        with self._looking:
            return self._tree.children(path)

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        with self._changing:
            effects = self._tree.plan(changes)
            if not effects:
                return
            self._append(encode_line(effects))
            with self._looking:
                self._tree.apply(effects)
            self._written += len(effects)
            if self._written > 2 * len(self._tree) + _MIN_OBSOLETE:
                self._compact()

    def close(self) -> None:
        """Close the files; the store is not used again."""
        with self._changing:
            for copy in self._copies:
                copy.close()

    # -- the copies

    def _append(self, line: bytes) -> None:
        """Append a change to all copies and fsync it.

        A failed fsync of the last copy closes the store for all later changes.
        """
        if self._failure is not None:
            raise KafkaStorageError(f"{self._copies[0].place.path}: {self._failure}")
        try:
            given_up = self._call_each(lambda copy: copy.append(line))
        except OSError as error:
            raise KafkaStorageError(f"{self._copies[0].place.path}: {error}") from error
        try:
            given_up |= self._call_each(MetadataCopy.sync)
        except OSError as error:
            self._fail(error)
        self._change += 1
        if given_up:
            self._note_copies()

    def _note_copies(self) -> None:
        """Add to the remaining copies that the others have none of the later changes."""
        self._written += 1
        try:
            self._append(encode_copies(self._names))
        except KafkaStorageError as error:
            self._on_event(f"the directories with current metadata cannot be noted: {error}")

    def _truncate(self, ends: Mapping[CopyPlace, int]) -> None:
        """Truncate incomplete changes; OSError if no copy can be used."""
        if self._call_each(lambda copy: copy.truncate_to(ends[copy.place])):
            self._note_copies()

    def _replace_all(self) -> None:
        """Write a new file in each place; OSError if that fails in all of them."""
        is_complete = False
        while not is_complete:
            data = encode_metadata(self._tree, change=self._change, copies=self._names)
            is_complete = not self._call_each(partial(_write, data=data))
            self._change += not is_complete
        self._written = len(self._tree)

    def _compact(self) -> None:
        """Replace the files by ones without obsolete lines, where there is room for two files."""
        data = encode_metadata(self._tree, change=self._change, copies=self._names)
        given_up = False
        try:
            given_up = self._call_each(partial(_write_if_room, data=data))
        except OSError as error:
            self._failure = error
        self._written = len(self._tree)
        if given_up:
            self._note_copies()

    @property
    def _names(self) -> list[str]:
        return [copy.place.name for copy in self._copies]

    def _call_each(self, call: Callable[[MetadataCopy], object]) -> bool:
        """Call with each copy; give up those that fail, and return whether there were any.

        If all fail, none is given up, and the first error is raised.
        """
        failed: dict[MetadataCopy, OSError] = {}
        for copy in self._copies:
            try:
                call(copy)
            except OSError as error:
                failed[copy] = error
        if len(failed) == len(self._copies):
            raise next(iter(failed.values()))
        for copy, reason in failed.items():
            self._on_event(f"{copy.place.path} is not written until a restart: {reason}")
            self._copies.remove(copy)
            copy.close()
        return bool(failed)

    def _fail(self, error: OSError) -> NoReturn:
        self._failure = error
        raise KafkaStorageError(f"{self._copies[0].place.path}: {error}") from error


def _is_current(newest: NewestMetadata, places: Sequence[CopyPlace]) -> bool:
    """Return whether each place has the newest copy, in the present format."""
    names = {place.name for place in places}
    is_everywhere = newest.ends.keys() == {*places} and names == {*newest.content.copies}
    return is_everywhere and newest.content.version == FORMAT


def _write(copy: MetadataCopy, *, data: bytes) -> None:
    copy.prepare(data)
    copy.replace()


def _write_if_room(copy: MetadataCopy, *, data: bytes) -> None:
    """Replace a file; the old one stays if the new one cannot be written next to it."""
    try:
        copy.prepare(data)
    except OSError:
        return
    copy.replace()
