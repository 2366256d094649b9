"""Contract of a decoder: its request and its chunks, as values without Arrow.

A decoder turns a buffer of batches into chunks of columns. `records.plain_decoder` decodes record
by record and is the oracle, `records.kernels` decodes fast; their results are the same. Both follow
these rules:

1. Batches come in buffer order. Batches outside the selection are not read; each other batch is
   checked as a whole. All rows before an invalid batch are yielded, and none of its own.
   The header decides the selection. For a wrapper without a usable offset only its time counts.
2. Control batches are checked and yield no rows. Under read_committed a data batch of an aborted
   transaction yields no rows either, from the transaction's first offset to its abort marker. The
   marker is read even outside the selection. `step_of` decides both.
3. A chunk has at most `max_rows` rows and `max_bytes` of keys, values and headers (each header
   counts 16 additional bytes). A batch that does not fit the rest begins a new chunk. A batch
   larger than a chunk is split; a record larger than a chunk is a chunk of its own.
4. Reading ends without an error at an incomplete batch, or at one beyond the selection.
   With `is_whole` an incomplete batch is damage, and raises after all rows before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer
from cordwood.core.errors import SettingError
from cordwood.records.compression import DEFAULT_LIMIT

if TYPE_CHECKING:  # appends and fetches use `AbortedTransaction` and must not import numpy
    import numpy as np
    from numpy.typing import NDArray

COLUMNS: Final = (
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "sequence",
)

#: Each header counts this in addition to its bytes, so that empty headers are bounded too.
HEADER_COST: Final = 16

#: Offsets into a column are 32 bits.
MOST_BYTES: Final = (1 << 31) - 1
MOST_ROWS: Final = 1 << 26

Bytes: TypeAlias = "NDArray[np.uint8]"
Numbers: TypeAlias = "NDArray[np.int64] | NDArray[np.int32] | NDArray[np.int16] | NDArray[np.int8]"


class AbortedTransaction(NamedTuple):
    """An aborted transaction, as a fetch response or a transaction index lists it."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Wanted records: ranges that include both ends, and the isolation level.

    `aborted` None is read_uncommitted; a list, also an empty one, is read_committed.
    """

    first_offset: int = 0
    last_offset: int = INT64_MAX
    min_timestamp: int = INT64_MIN
    max_timestamp: int = INT64_MAX
    aborted: tuple[AbortedTransaction, ...] | None = None

    def __post_init__(self) -> None:
        for key in ("first_offset", "last_offset", "min_timestamp", "max_timestamp"):
            value = getattr(self, key)
            if not isinstance(value, int) or not INT64_MIN <= value <= INT64_MAX:
                raise SettingError(
                    f"{key} is {type(value).__name__} {value!r}",
                    key=key,
                    remedy="choose a whole number of 64 bits: an offset or milliseconds since 1970",
                )

    def is_outside(self, base_offset: int, last_offset: int, *, max_timestamp: int) -> bool:
        """Return whether a batch is outside the selection, by its header if that is sufficient."""
        is_sound = 0 <= base_offset <= last_offset <= INT64_MAX
        is_early = last_offset < self.first_offset or 0 <= max_timestamp < self.min_timestamp
        return is_sound and is_early

    def has(self, offset: int, timestamp: int) -> bool:
        """Return whether a record is in both ranges."""
        return (
            self.first_offset <= offset <= self.last_offset
            and self.min_timestamp <= timestamp <= self.max_timestamp
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """The size limits of a chunk. Chunks are reused, so small ones stay in the cache."""

    max_rows: int = 1 << 16
    max_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        for key, most in (("max_rows", MOST_ROWS), ("max_bytes", MOST_BYTES // 2)):
            value = getattr(self, key)
            if not isinstance(value, int) or not 1 <= value <= most:
                raise SettingError(
                    f"a chunk cannot have {key} = {value}",
                    key=key,
                    remedy=f"choose a number from 1 to {most}",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """A request to a decoder.

    With `is_view` keys and values are views of the bytes that are read. `is_whole` asserts that the
    buffer ends with a whole batch, which is true of a file and not of a fetch response.
    """

    columns: tuple[str, ...] = COLUMNS
    selection: Selection = field(default_factory=Selection)
    chunking: Chunking = field(default_factory=Chunking)
    is_view: bool = False
    is_whole: bool = False
    check_crc: bool = True
    limit: int = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        problem = None
        unknown = [name for name in self.columns if name not in COLUMNS]
        if unknown:
            problem = f"there is no column {unknown[0]!r}"
        elif not self.columns or len(set(self.columns)) < len(self.columns):
            problem = f"columns have to be some, each once, not {list(self.columns)}"
        if problem:
            raise SettingError(problem, key="columns", remedy=f"choose from {', '.join(COLUMNS)}")


class FixedColumn(NamedTuple):
    """A column of numbers, one per row."""

    numbers: Numbers


class BinaryColumn(NamedTuple):
    """A column of concatenated bytes; `bits` has a 1 for each row that is not null."""

    starts: "NDArray[np.int32]"
    data: Bytes
    bits: Bytes
    nulls: int

    def sizes(self) -> "NDArray[np.int32]":
        """Return the size of each value; -1 for null."""
        found = self.starts[1:] - self.starts[:-1]
        if self.nulls:
            import numpy as np  # noqa: PLC0415  # as above

            valid = np.unpackbits(self.bits, count=len(found), bitorder="little")
            found[valid == 0] = -1
        return found

    def content(self) -> Bytes:
        """Return the bytes of all values, which nulls have none of."""
        return self.data[self.starts[0] : self.starts[-1]]


class ViewColumn(NamedTuple):
    """A column of sixteen bytes per row, which hold the value or point into one of `buffers`."""

    views: Bytes
    buffers: tuple[Bytes, ...]
    bits: Bytes
    nulls: int


class HeadersColumn(NamedTuple):
    """A column with a range of key-value pairs per row."""

    starts: "NDArray[np.int32]"
    pairs: int
    keys: BinaryColumn
    values: BinaryColumn


Column: TypeAlias = FixedColumn | BinaryColumn | ViewColumn | HeadersColumn


class ColumnChunk(NamedTuple):
    """N rows of the requested columns."""

    rows: int
    columns: Mapping[str, Column]


class Decoder(Protocol):
    """A decoder turns batches into chunks; it serves one thread at a time."""

    def decode(self, buffer: Buffer, request: ReadRequest) -> Iterator[ColumnChunk]:
        """Yield the non-empty chunks of a buffer.

        Requires: the buffer keeps its bytes while the iterator or any view of it lives. Ensures: a
        chunk's arrays are not overwritten while a reference to them exists. Raises:
        CorruptMessageError or InvalidRecordError, after all rows before the bad batch.
        """


class AbortedProducers:
    """Producers whose records are dropped at the present offset of a reader."""

    __slots__ = ("_active", "_pending")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._pending = sorted(
            (AbortedTransaction(*one) for one in aborted),
            key=lambda one: one.first_offset,
            reverse=True,
        )
        self._active: set[int] = set()

    @property
    def is_idle(self) -> bool:
        """Return whether no later batch can be dropped."""
        return not self._active and not self._pending

    def reach(self, last_offset: int) -> None:
        """Advance to the batch with this last offset."""
        while self._pending and self._pending[-1].first_offset <= last_offset:
            self._active.add(self._pending.pop().producer_id)

    def is_aborted(self, producer_id: int) -> bool:
        """Return whether this producer's transactional records are dropped here."""
        return producer_id in self._active

    def end(self, producer_id: int) -> None:
        """Handle the producer's abort marker: its later records are kept."""
        self._active.discard(producer_id)


class Step(IntEnum):
    """The treatment of a v2 batch by a reader."""

    SKIP = 0
    ROWS = 1
    CHECK = 2  # read and validated, no rows
    END = 3  # the same; after an abort marker its producer is no longer dropped


def step_of(
    aborted: AbortedProducers | None,
    *,
    producer_id: int,
    last_offset: int,
    is_control: bool,
    is_transactional: bool,
    is_outside: bool,
) -> Step:
    """Return the step for the next batch of a buffer, from its header alone.

    Outside the selection only the markers of dropped producers are read, because only they affect
    later batches.
    """
    is_dropped = False
    if aborted is not None and producer_id >= 0:
        aborted.reach(last_offset)
        is_dropped = aborted.is_aborted(producer_id)
    if is_control and is_dropped:
        return Step.END
    if is_outside:
        return Step.SKIP
    return Step.CHECK if is_control or (is_dropped and is_transactional) else Step.ROWS
