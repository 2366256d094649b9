"""Memory of the kernel decoder: kept, reused and released."""

import tracemalloc

import numpy as np
import pyarrow as pa

from cordwood.records.batch_builder import BatchFields
from cordwood.records.columns import read_columns
from cordwood.records.compression import Codec
from cordwood.records.decoder import Chunking, ReadRequest, Selection
from cordwood.records.kernels.arena import ARENA_BYTES
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from tests.unit.records.segments import packed, v2, values

TWO_BATCHES = v2(b"a", b"b") + v2(b"c", b"d", fields=BatchFields(base_offset=2), timestamp=2000)


def addresses(batch: pa.RecordBatch, column: str) -> list[int]:
    return [buffer.address for buffer in batch[column].buffers() if buffer]


def test_memory_is_used_again_when_no_record_batch_is_held() -> None:
    decoder, request = (
        KernelDecoder(),
        ReadRequest(columns=("offset",), chunking=Chunking(max_rows=1)),
    )
    data = v2(*[b"v"] * 6)

    places = [
        addresses(batch, "offset")[0] for batch in read_columns(data, decoder, request=request)
    ]

    # The variable of the loop holds one while the next is made.
    assert len(set(places)) <= 2


def test_memory_is_used_again_for_the_next_buffer() -> None:
    decoder, request = (
        KernelDecoder(),
        ReadRequest(columns=("offset",), chunking=Chunking(max_rows=4)),
    )

    places = [
        addresses(batch, "offset")[0]
        for _ in range(6)
        for batch in read_columns(TWO_BATCHES, decoder, request=request)
    ]

    assert (len(places), len(set(places)) <= 2) == (6, True)


def test_memory_is_reused_when_no_views_refer_to_it() -> None:
    half = bytes(ARENA_BYTES // 2)
    data = b"".join(packed(Codec.ZSTD, offset, half) for offset in range(60))
    request = ReadRequest(is_view=True, selection=Selection(max_timestamp=0))

    tracemalloc.start()
    found = values(KernelDecoder(), data, request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == []
    assert peak < 25 * ARENA_BYTES


def test_memory_is_little_when_small_chunks_are_held() -> None:
    decoder, data = KernelDecoder(), v2(b"x" * 100)
    held = list(read_columns(data, decoder))

    tracemalloc.start()
    for _ in range(50):
        held += read_columns(data, decoder)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [batch["value"].to_pylist() for batch in held] == [[b"x" * 100]] * 51
    assert kept < 1 << 20


def test_memory_shrinks_after_large_chunks() -> None:
    decoder, data = KernelDecoder(), v2(b"x" * 100)
    huge = ReadRequest(chunking=Chunking(max_rows=1 << 18, max_bytes=1 << 26))

    tracemalloc.start()
    for request in (huge, ReadRequest()):
        values(decoder, data, request)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 1 << 26


def test_memory_is_released_when_reading_stops_early() -> None:
    decoder, taking_its_place = KernelDecoder(), []
    request = ReadRequest(columns=("value",), chunking=Chunking(max_rows=1), is_view=True)
    data = packed(Codec.LZ4, 0, b"a" * 20, b"b" * 20)

    places = []
    for _ in range(2):
        batch = next(read_columns(data, decoder, request=request))
        places.append(batch["value"].buffers()[2].address)
        del batch
        taking_its_place += [np.empty(ARENA_BYTES, np.uint8) for _ in range(3)]

    assert places[0] == places[1]
