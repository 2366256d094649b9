"""Batch of the records of several outcomes (Kafka: `CoordinatorRuntime.CoordinatorBatch`).

The outcomes of one turn of the loop share an append, which costs more than their decisions. A batch
takes no more than its log accepts, since records that were replayed cannot be rejected one by one.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.runtime.internal_batches import encode_internal
from cordwood.core.ports import Pending
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder
from cordwood.records.compression import Codec

#: The most bytes of a batch, so that its append is a short piece of work on the loop.
MOST_BYTES: Final = 16 * 1024
#: The most bytes of a record without its key and its value.
_RECORD_OVERHEAD: Final = 32


class OpenBatch:
    """An open batch of at most `most_bytes`; `append` appends what has been built."""

    __slots__ = ("_append", "_builder", "_most_bytes")

    def __init__(
        self,
        append: Callable[[bytearray], Pending[int]],
        *,
        most_bytes: int,
        codec: Codec = Codec.NONE,
    ) -> None:
        self._append = append
        self._most_bytes = min(most_bytes, MOST_BYTES)
        fields = NO_FIELDS if codec is Codec.NONE else NO_FIELDS._replace(codec=codec)
        self._builder = BatchBuilder(fields)

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """Add the records of an outcome; return False, with nothing added, if they do not fit."""
        encoded = [encode_internal(each) for each in records]
        size = self._builder.uncompressed_size
        for key, value in encoded:
            size += _RECORD_OVERHEAD + len(key) + (0 if value is None else len(value))
        if size > self._most_bytes:
            return False
        for key, value in encoded:
            self._builder.append(key, value, timestamp=now_ms)
        return True

    def append(self) -> Pending[int]:
        """Append the batch; the result is its base offset, once it counts."""
        return self._append(self._builder.build())
