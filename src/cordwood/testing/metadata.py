"""Metadata that live as long as the process: for tests, and brokers that keep nothing."""

from collections.abc import Sequence
from threading import Lock

from cordwood.core.errors import KafkaStorageError
from cordwood.core.nodes import Node, NodeChange, NodeTree


class MemoryMetadata:
    """The MetadataStore port over a tree in memory, which may be told to keep nothing more."""

    def __init__(self) -> None:
        self._tree = NodeTree()
        self._lock = Lock()
        self._refusal: KafkaStorageError | None = None

    def refuse(self, refusal: KafkaStorageError | None) -> None:
        """Let every change end in this error from now on; with None in none."""
        self._refusal = refusal

    def get(self, path: str) -> Node | None:
        with self._lock:
            return self._tree.get(path)

    def children(self, path: str) -> list[str]:
        with self._lock:
            return self._tree.children(path)

    def multi(self, changes: Sequence[NodeChange]) -> None:
        if self._refusal is not None:
            raise self._refusal
        with self._lock:
            self._tree.apply(self._tree.plan(changes))
