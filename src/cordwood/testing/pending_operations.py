"""Operations on files and directories that are not durable yet, oldest first.

A sync takes the operations of its file or directories without a look at all others: a test's broker
with thousands of logs keeps several for each of them. Thread-safe: logs are created on threads.
"""

from collections.abc import Iterator
from threading import Lock

from cordwood.testing.disk_model import DirectoryNode, DiskNode, DiskOperation, FileNode


class PendingOperations:
    """All pending operations of a file system, and those of each node."""

    __slots__ = ("_by_node", "_last", "_lock", "_operations")

    def __init__(self) -> None:
        self._operations: dict[int, DiskOperation] = {}
        self._by_node: dict[DiskNode, dict[int, DiskOperation]] = {}
        self._last = 0
        self._lock = Lock()

    def __iter__(self) -> Iterator[DiskOperation]:
        with self._lock:
            return iter(list(self._operations.values()))

    def __len__(self) -> int:
        return len(self._operations)

    def add(self, operation: DiskOperation) -> None:
        """Add the latest operation."""
        with self._lock:
            self._last += 1
            self._operations[self._last] = operation
            for node in operation.nodes:
                self._by_node.setdefault(node, {})[self._last] = operation

    def take_of_file(self, file: FileNode) -> list[DiskOperation]:
        """Remove and return the operations of a file, oldest first."""
        with self._lock:
            return self._take(list(self._by_node.get(file, ())))

    def take_of_directory(self, directory: DirectoryNode) -> list[DiskOperation]:
        """Remove and return the operations of a directory and of those that renames connect to it.

        They are in their order, oldest first.
        """
        with self._lock:
            joined: dict[DiskNode, None] = {directory: None}
            numbers, nodes = set[int](), [directory]
            for node in nodes:
                for number, operation in self._by_node.get(node, {}).items():
                    numbers.add(number)
                    nodes += [new for new in operation.directories if new not in joined]
                    joined.update(dict.fromkeys(operation.directories))
            return self._take(sorted(numbers))

    def clear(self) -> None:
        """Drop all operations."""
        with self._lock:
            self._operations.clear()
            self._by_node.clear()

    def _take(self, numbers: list[int]) -> list[DiskOperation]:
        taken = [self._operations.pop(number) for number in numbers]
        for number, operation in zip(numbers, taken, strict=True):
            for node in operation.nodes:
                self._drop(node, number)
        return taken

    def _drop(self, node: DiskNode, number: int) -> None:
        own = self._by_node[node]
        del own[number]
        if not own:
            del self._by_node[node]
