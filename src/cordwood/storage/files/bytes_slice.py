"""Slice whose bytes are in memory: it does not change with its file (Kafka: `MemoryRecords`)."""

from cordwood.core.errors import KafkaStorageError


class BytesSlice:
    """The bytes that a file had at `position` at the time of reading."""

    __slots__ = ("_data", "length", "position")

    descriptor = None

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self.position = position
        self.length = len(data)

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        return self._data[start : self.length if length is None else start + length]

    def read_cached(self, start: int, length: int) -> memoryview:
        return self.read(start, length)

    def fail(self, error: OSError) -> KafkaStorageError:
        """Return an error; there is no file that could cause one."""
        return KafkaStorageError(str(error))

    def release(self) -> None:
        """Do nothing: the bytes are freed with the object."""
