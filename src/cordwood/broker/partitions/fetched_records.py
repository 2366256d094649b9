"""Records of a fetch: a range of a log's file, which a response sends (Kafka: `FileRecords`).

An error of the file while the response is sent is an error of the log's disk, as in every other
call into the log: a failed disk takes its log directory offline.
"""

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Slice
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_manager import LogManager


class FetchedRecords:
    """A slice of a log; `fail` runs on the thread that owns the logs."""

    __slots__ = ("_log", "_manager", "_slice", "length", "position")

    def __init__(self, part: Slice, log: Log, manager: LogManager) -> None:
        self.position = part.position
        self.length = part.length
        self._slice = part
        self._log = log
        self._manager = manager

    @property
    def descriptor(self) -> int | None:
        return self._slice.descriptor

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        return self._slice.read(start, length)

    def read_cached(self, start: int, length: int) -> memoryview:
        return self._slice.read_cached(start, length)

    def fail(self, error: OSError) -> Exception:
        """Take the log's directory offline if its disk has failed."""
        self._slice.fail(error)  # names the file in the error
        try:
            with self._manager.using(self._log):
                raise error
        except KafkaStorageError as failure:
            return failure

    def release(self) -> None:
        self._slice.release()
