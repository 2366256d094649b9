"""How fast does a segment become Arrow columns, checked whole, and how far ahead of others is that?

    python -m benchmarks.micro.records

Three questions, each answered in processor time of this process, best of several slices taken in
turns with the peer's:

- uncompressed, values of 100 B and 1 KB in batches of 16 KB: records and bytes a second, checksums
  on, every record's structure checked, chunks reused; next to the decoders of aiokafka (Cython) and
  kafka-python, which yield an object a record, on a part of the same bytes, checksums on as well;
- each codec: bytes a second out of the whole way, next to the codec's own speed on the same blocks;
- all ten columns in place of four.

To compare two commits, compare their ratios, never their speeds.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from time import process_time
from typing import NamedTuple, Protocol

from benchmarks.figure import Figure
from benchmarks.micro.compression import payload
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.columns import read_columns
from cordwood.records.compression import Codec, decompress_into
from cordwood.records.decoder import COLUMNS, ReadRequest
from cordwood.records.kernels import KernelDecoder
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch

FEW = ("offset", "timestamp", "key", "value")
BATCH_BYTES = 16 * 1024
CODEC_BATCH_BYTES = 128 * 1024
DIFFERENT = 64
SLICES = 5
PEER_SHARE = 64
CODEC_GOAL = 0.7

_ROWS = attrgetter("num_rows")


class PeerBatch(Protocol):
    """The interface of both peers' batches."""

    def validate_crc(self) -> object: ...

    def __iter__(self) -> Iterator[Record]: ...


class PeerRecords(Protocol):
    """The interface of both peers' readers."""

    def next_batch(self) -> PeerBatch | None: ...


class Segment(NamedTuple):
    """The bytes of a segment, and what is in them."""

    data: bytes
    records: int
    uncompressed: int

    def part(self, share: int) -> "Segment":
        """Return the batches that begin in the first `share`th."""
        found = [batch for batch in batches(self.data) if batch.position < len(self.data) // share]
        size = found[-1].position + found[-1].size
        records = found[-1].next_offset
        return Segment(self.data[:size], records, self.uncompressed * records // self.records)


class Cut(NamedTuple):
    """One batch, and what is in it."""

    batch: bytearray
    records: int
    uncompressed: int


def segment(value_size: int, size: int, *, codec: Codec = Codec.NONE, batch_bytes: int) -> Segment:
    """Return about `size` bytes of batches whose offsets follow each other.

    There are enough different ones that a processor does not learn their branches by heart.
    """
    whole = max(1, size // batch_bytes)
    text = payload(batch_bytes * min(whole, DIFFERENT) + value_size)
    cuts = [
        _cut(text[index * batch_bytes :], value_size, codec=codec, batch_bytes=batch_bytes)
        for index in range(min(whole, DIFFERENT))
    ]
    out = bytearray()
    records = uncompressed = 0
    for index in range(whole):
        cut = cuts[index % len(cuts)]
        RecordBatch(cut.batch).set_base_offset(records)
        out += cut.batch
        records += cut.records
        uncompressed += cut.uncompressed
    return Segment(bytes(out), records, uncompressed)


def _cut(text: bytes, value_size: int, *, codec: Codec, batch_bytes: int) -> Cut:
    """Return a batch of values from the beginning of `text`."""
    builder = BatchBuilder(BatchFields(codec=codec))
    while builder.uncompressed_size + value_size < batch_bytes:
        at = builder.count * value_size
        value = text[at : at + value_size]
        builder.append(b"key-%08d" % builder.count, value, timestamp=1_790_000_000_000 + at)
    return Cut(builder.build(), builder.count, builder.uncompressed_size)


def figures(size: int = 256 * 1024 * 1024) -> list[Figure]:
    """Measure on segments of about `size` bytes."""
    small = segment(100, size, batch_bytes=BATCH_BYTES)
    large = segment(1024, size, batch_bytes=BATCH_BYTES)
    found = [*_beside_decoders("100 B", small), *_beside_decoders("1 KB", large)]
    found += [_rate("100 B to all columns", small, COLUMNS)]
    for codec in Codec:
        if codec is not Codec.NONE:
            found += [_beside_codec(codec, size, value_size=value) for value in (100, 1024)]
    return found


def _read(columns: tuple[str, ...]) -> Callable[[Segment], int]:
    """Return a reader that keeps its chunks from one segment to the next, as a consumer would."""
    decoder, request = KernelDecoder(), ReadRequest(columns=columns)

    def read(of: Segment) -> int:
        found = read_columns(of.data, decoder, request=request)
        return sum(map(_ROWS, found))  # which holds no batch while the next one is made

    return read


def _rate(name: str, of: Segment, columns: tuple[str, ...]) -> Figure:
    read = _read(columns)
    seconds = min(_cpu_seconds(read, of) for _ in range(SLICES))
    return Figure(name=name, value=of.records / seconds / 1e6, unit="M records/s")


def _beside_decoders(name: str, of: Segment) -> list[Figure]:
    """Return our rates, and the ratios to the decoders that yield objects."""
    read, part = _read(FEW), of.part(PEER_SHARE)
    peers = _peers()
    ours: list[float] = []
    theirs: dict[str, list[float]] = {peer: [] for peer in peers}
    for _ in range(SLICES):
        ours.append(_cpu_seconds(read, of))
        for peer, iterate in peers.items():
            theirs[peer].append(_cpu_seconds(iterate, part))
    rate = of.records / min(ours) / 1e6
    goal = (20.0, None) if name == "100 B" else (None, 5.0)
    found = [
        Figure(name=f"{name} to columns", value=rate, unit="M records/s", goal=goal[0]),
        Figure(
            name=f"{name} to columns, bytes",
            value=len(of.data) / min(ours) / 1e9,
            unit="GB/s",
            goal=goal[1],
        ),
    ]
    for peer, seconds in theirs.items():
        peer_rate = part.records / min(seconds) / 1e6
        found.append(
            Figure(
                name=f"{name} to columns beside {peer}",
                value=rate,
                unit="M records/s",
                peer=peer,
                peer_value=peer_rate,
                ratio=rate / peer_rate,
            )
        )
    return found


def _beside_codec(codec: Codec, size: int, *, value_size: int) -> Figure:
    """Return the speed of the whole way, with the codec alone as the peer."""
    of = segment(value_size, size, codec=codec, batch_bytes=CODEC_BATCH_BYTES)
    blocks = [batch.payload for batch in batches(of.data) if isinstance(batch, RecordBatch)]
    out = bytearray(CODEC_BATCH_BYTES)
    read = _read(FEW)

    def decompress_all(_: Segment) -> int:
        return sum(decompress_into(codec, block, out, 0) or 0 for block in blocks)

    ours, theirs = [], []
    for _ in range(SLICES):
        ours.append(_cpu_seconds(read, of))
        theirs.append(_cpu_seconds(decompress_all, of))
    return Figure(
        name=f"{value_size} B {codec.kafka_name} to columns",
        value=of.uncompressed / min(ours) / 1e9,
        unit="GB/s",
        peer="the codec alone",
        peer_value=of.uncompressed / min(theirs) / 1e9,
        ratio=min(theirs) / min(ours),
        goal=CODEC_GOAL,
    )


def _peers() -> dict[str, Callable[[Segment], int]]:
    """Return the decoders of others, who are installed for benchmarks alone."""
    aiokafka = import_module("aiokafka.record").MemoryRecords
    kafka_python = import_module("kafka.record").MemoryRecords
    return {
        "aiokafka": lambda of: _iterate(aiokafka(of.data)),
        "kafka-python": lambda of: _iterate(kafka_python(of.data)),
    }


def _iterate(records: PeerRecords) -> int:
    """Decode into objects, touching what our columns hold."""
    rows = 0
    while (batch := records.next_batch()) is not None:
        _ensure(batch.validate_crc())
        for record in batch:
            _ = record.offset, record.timestamp, record.key, record.value
            rows += 1
    return rows


def _ensure(is_valid: object) -> None:
    if not is_valid:
        raise ValueError("a peer found a wrong checksum")


def _cpu_seconds(read: Callable[[Segment], int], of: Segment) -> float:
    """Return the processor time of one pass, which has to find every record or byte."""
    start = process_time()
    found = read(of)
    seconds = max(process_time() - start, 1e-9)
    if found < of.records:
        raise ValueError(f"{found} found in place of {of.records}")
    return seconds


if __name__ == "__main__":
    for figure in figures():
        print(figure)
