"""Metadata store in memory, for tests and for brokers without persistence."""

from collections.abc import Sequence
from threading import Lock

from cordwood.core.errors import KafkaStorageError
from cordwood.core.znodes import ZNode, ZNodeChange, ZNodeTree


class MemoryMetadata:
    """The MetadataStore port over a tree in memory, which can be set to reject every change."""

    def __init__(self) -> None:
        self._tree = ZNodeTree()
        self._lock = Lock()
        self._refusal: KafkaStorageError | None = None

    def refuse(self, refusal: KafkaStorageError | None) -> None:
        """Raise this error for every change from now on; None ends that."""
        self._refusal = refusal

    def get(self, path: str) -> ZNode | None:
        with self._lock:
            return self._tree.get(path)

    def children(self, path: str) -> list[str]:
        with self._lock:
            return self._tree.children(path)

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        if self._refusal is not None:
            raise self._refusal
        with self._lock:
            self._tree.apply(self._tree.plan(changes))
