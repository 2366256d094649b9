"""What is asked of a decoder and what it hands out: values without Arrow, without Kafka's bytes.

A decoder turns a buffer of batches into chunks of columns. `records.plain` decodes record by record
and is the oracle, `records.kernels` decodes fast; who reads does not see which it was. Both follow
the same rules:

1. Batches come in the order they lie in. What is outside the selection is not read at all, what is
   read is checked whole: none of an unsound batch's rows is handed out, all rows before it are.
   The header says what is outside; of a wrapper whose offset tells nothing, only its time does.
2. Control batches are checked and yield no rows. Under read_committed, neither do data batches of a
   transaction from the moment its first offset is reached until its abort marker is read, which is
   read wherever it lies. `step_of` decides both.
3. A chunk has at most `max_rows` rows and `max_bytes` of keys, values and headers (each header
   counts 16 bytes beside its own). A batch that does not fit what is left begins a new chunk; one
   larger than a chunk is split; one record larger than a chunk is a chunk.
4. Reading ends, without an error, at a batch that is cut off or that lies beyond the selection.
   With `is_whole` a batch that is cut off is damage, and refused after all rows before it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer
from cordwood.core.errors import SettingError
from cordwood.records.compression import DEFAULT_LIMIT

if TYPE_CHECKING:  # who appends and who fetches speak of transactions too, and need no arrays
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

#: What one header counts in a chunk beside its bytes, so that empty headers are bounded too.
HEADER_COST: Final = 16

#: Offsets into a column are 32 bits.
MOST_BYTES: Final = (1 << 31) - 1
MOST_ROWS: Final = 1 << 26

Bytes: TypeAlias = "NDArray[np.uint8]"
Numbers: TypeAlias = "NDArray[np.int64] | NDArray[np.int32] | NDArray[np.int16] | NDArray[np.int8]"


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted, as a fetch response or a transaction index lists it."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which records are wanted: ranges that include both ends, and whether only committed ones.

    `aborted` None is read_uncommitted; a list, be it empty, is read_committed.
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
        """Whether a batch has nothing that is wanted; its header is believed when it can be."""
        is_sound = 0 <= base_offset <= last_offset <= INT64_MAX
        is_early = last_offset < self.first_offset or 0 <= max_timestamp < self.min_timestamp
        return is_sound and is_early

    def has(self, offset: int, timestamp: int) -> bool:
        """Whether a record lies in both ranges."""
        return (
            self.first_offset <= offset <= self.last_offset
            and self.min_timestamp <= timestamp <= self.max_timestamp
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How large a chunk may become. Chunks are reused, so small ones stay in the cache."""

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
class Request:
    """What is asked of a decoder.

    `is_view` wants keys and values as views of the bytes that are read, `is_whole` says that the
    buffer ends where a batch does, as a file may and the answer to a fetch may not.
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


class Fixed(NamedTuple):
    """Numbers, one a row."""

    numbers: Numbers


class Binary(NamedTuple):
    """Bytes laid end to end; `bits` has a 1 for each row that is not null."""

    starts: "NDArray[np.int32]"
    data: Bytes
    bits: Bytes
    nulls: int


class Views(NamedTuple):
    """Sixteen bytes a row, which hold or point to the bytes of that row in one of `buffers`."""

    views: Bytes
    buffers: tuple[Bytes, ...]
    bits: Bytes
    nulls: int


class Headers(NamedTuple):
    """For each row a stretch of pairs."""

    starts: "NDArray[np.int32]"
    pairs: int
    keys: Binary
    values: Binary


Column: TypeAlias = Fixed | Binary | Views | Headers


class Chunk(NamedTuple):
    """So many rows of the columns that were asked for."""

    rows: int
    columns: Mapping[str, Column]


class Decoder(Protocol):
    """Turns batches into chunks. A decoder serves one thread at a time."""

    def decode(self, buffer: Buffer, request: Request) -> Iterator[Chunk]:
        """Yield the chunks of a buffer, none of them empty.

        Requires: the buffer keeps its bytes while the iterator or any view of it lives.
        Ensures: a chunk's arrays are not written again while anybody refers to them.
        Raises: CorruptMessageError or InvalidRecordError, after all rows before the bad batch.
        """


class AbortedProducers:
    """Which producers' records are to be dropped, as a reader goes through the offsets."""

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
        """Whether no batch that is still to come can be dropped."""
        return not self._active and not self._pending

    def reach(self, last_offset: int) -> None:
        """Note that a batch with this last offset is read next."""
        while self._pending and self._pending[-1].first_offset <= last_offset:
            self._active.add(self._pending.pop().producer_id)

    def is_aborted(self, producer_id: int) -> bool:
        """Whether what this producer wrote in a transaction is to be dropped here."""
        return producer_id in self._active

    def end(self, producer_id: int) -> None:
        """Note that the producer's abort marker has been read."""
        self._active.discard(producer_id)


class Step(IntEnum):
    """What a reader does with a v2 batch."""

    SKIP = 0
    ROWS = 1
    CHECK = 2  # read and validated, no rows
    END = 3  # the same, and when it is an abort marker its producer is no longer dropped


def step_of(
    aborted: AbortedProducers | None,
    *,
    producer_id: int,
    last_offset: int,
    is_control: bool,
    is_transactional: bool,
    is_outside: bool,
) -> Step:
    """Decide about the batch that is next in a buffer, from its header alone.

    Outside the selection only the markers of producers that are being dropped are read, for only
    they change what comes after.
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
