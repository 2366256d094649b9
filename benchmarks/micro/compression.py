"""How much of a codec's own speed is left after our framing, bounds and checks?

    python -m benchmarks.micro.compression

One figure for each codec and batch size: `decompress_into` next to the vendor's own one-call reader
on the same data, in turns, by process CPU time. The peer of snappy is one raw block, since the
vendor does not know the Java framing; the peer of lz4 is the vendor's frame reader. To compare two
commits, compare their ratios, never their speeds.
"""

from collections.abc import Callable
from hashlib import sha256

import cramjam

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figure import Figure
from cordwood.records.compression import Codec, compress, decompress_into

GOAL = 0.7
BATCH_SIZES = (16 * 1024, 128 * 1024, 1024 * 1024)

_LINE = (
    b'{"at":%d,"level":"info","host":"web-%02d","path":"/orders/%06d","status":200,"took_ms":%d}\n'
)


def figures(size: int = 256 * 1024 * 1024) -> list[Figure]:
    """Measure every codec at every batch size, decompressing about `size` bytes for each."""
    return [
        _measure(codec, batch_size, max(3, size // batch_size // len(BATCH_SIZES)))
        for codec in Codec
        if codec is not Codec.NONE
        for batch_size in BATCH_SIZES
    ]


def payload(size: int) -> bytes:
    """Return `size` bytes of log lines of about 100 bytes, the same ones every time."""
    lines = []
    state = 1
    for number in range(size // 70 + 1):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        lines.append(
            _LINE % (1_763_700_000_000 + number, state % 40, state >> 9, state >> 7 & 0x1FF)
        )
    return b"".join(lines)[:size]


def _peer(codec: Codec, data: bytes, out: memoryview) -> Callable[[], int]:
    """Return a call of the vendor's own reader on `data`."""
    match codec:
        case Codec.GZIP:
            stream = compress(codec, data)
            return lambda: cramjam.gzip.decompress_into(stream, out)
        case Codec.SNAPPY:
            block = bytes(cramjam.snappy.compress_raw(data))
            return lambda: cramjam.snappy.decompress_raw_into(block, out)
        case Codec.LZ4:
            frame = compress(codec, data)
            return lambda: cramjam.lz4.decompress_into(frame, out)
        case _:
            zstd = compress(codec, data)
            return lambda: cramjam.zstd.decompress_into(zstd, out)


def _measure(codec: Codec, batch_size: int, rounds: int) -> Figure:
    """Run both sides in turns and keep the best slice of each."""
    data = payload(batch_size)
    packed = compress(codec, data)
    out = bytearray(batch_size)
    peer = _peer(codec, data, memoryview(out))
    slices = 5
    calls = max(1, rounds // slices)
    ours, theirs = [], []
    for _ in range(slices):
        ours.append(cpu_seconds(lambda: decompress_into(codec, packed, out, 0), calls))
        theirs.append(cpu_seconds(peer, calls))
    if sha256(out).digest() != sha256(data).digest():
        raise ValueError(f"{codec.kafka_name} did not give the data back")
    moved = batch_size * calls / 1e9
    return Figure(
        name=f"decompress {codec.kafka_name} {batch_size // 1024} KB",
        value=moved / min(ours),
        unit="GB/s",
        peer="cramjam",
        peer_value=moved / min(theirs),
        ratio=min(theirs) / min(ours),
        goal=GOAL,
    )


if __name__ == "__main__":
    for figure in figures():
        print(figure)
