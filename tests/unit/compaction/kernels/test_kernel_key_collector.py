"""The kernel collects the same keys as the plain collector, and marks the same records."""

from array import array
from collections.abc import Iterator

import pytest

from cordwood.compaction.engine.engine import KeyBlock
from cordwood.compaction.engine.plain_key_collector import PlainKeyCollector
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels import kernel_key_collector
from cordwood.compaction.kernels.kernel_key_collector import (
    KernelKeyCollector,
    mark,
    notes_of,
    survivors,
)
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, chunk, marked, marks, old
from tests.unit.compaction.kernels.test_kernel_key_map import keyed


def taken(
    collector: KernelKeyCollector | PlainKeyCollector, data: SegmentChunk, found: Marks
) -> Iterator[list[tuple[bytes, int, int]]]:
    """Yield the collected keys of each bucket, sorted, with hashes and words."""
    collector.collect(data, found, offsets=range(1, 1 << 40))
    for noted in collector.finish():
        ends = [sum(noted.sizes[: at + 1]) for at in range(len(noted.sizes))]
        keys = [noted.data[end - size : end] for end, size in zip(ends, noted.sizes, strict=True)]
        yield sorted(zip(keys, noted.hashes, noted.words, strict=True))


def test_collectors_agree_on_every_format_and_codec() -> None:
    parts = (
        batch(0, "a1 b2 c3 -4"),
        batch(4, "d- e5", fields=BatchFields(codec=Codec.ZSTD)),
        old(6, "f6 g-", codec=Codec.GZIP),
    )
    data, found = chunk(*parts), marks("ooxxtoot")

    kernels = list(taken(KernelKeyCollector(4, 50, 9), data, found))

    assert kernels == list(taken(PlainKeyCollector(4, 50, 9), data, found))
    assert sum(map(len, kernels)) == 5


def test_collectors_agree_when_records_exceed_the_notes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_key_collector, "_NOTES", 7)
    data, found = keyed(1500), Marks(3000)
    for number in range(0, 3000, 3):
        set_bit(found.latest, number)

    kernels = list(taken(KernelKeyCollector(8, 0, 1), data, found))

    assert kernels == list(taken(PlainKeyCollector(8, 0, 1), data, found))


def test_damaged_record_is_rejected_like_in_the_reader() -> None:
    data = bytearray(batch(0, "a1 b2"))
    data[-1] ^= 0xFF

    with pytest.raises(BadRecordsError):
        KernelKeyCollector(1, 0, 0).collect(chunk(bytes(data)), Marks(2), offsets=range(9))


def test_key_block_is_converted_to_notes() -> None:
    noted = KeyBlock(b"abb", array("i", [1, 2]), array("Q", [1, (1 << 64) - 1]), array("q", [6, 9]))

    assert notes_of(noted).tolist() == [[0, 2, 0, 1], [1, 5, 0, -1]]


def test_survivors_are_the_words_of_marked_records() -> None:
    noted = KeyBlock(b"abc", array("i", [1, 1, 1]), array("Q", [1, 2, 3]), array("q", [8, 11, 12]))
    nothing = KeyBlock(b"", array("i"), array("Q"), array("q"))

    assert list(survivors(marks("xxoxo"), noted, 2)) == [8, 12]
    assert list(survivors(marks("xxoxo"), nothing, 2)) == []


def test_words_mark_the_latest_and_tombstones() -> None:
    found = marks("xxxx")

    mark(found, 10, array("q", [20, 27]))
    mark(found, 10, array("q"))

    assert marked(found) == "oxxt"
