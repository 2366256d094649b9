"""The values that the parts of the engine exchange."""

from array import array

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.engine import HASHES
from cordwood.compaction.engine.segment_chunk import SegmentChunk


def test_hash_space_has_64_bits() -> None:
    assert HASHES - 1 == 0xFFFF_FFFF_FFFF_FFFF


def test_chunk_has_the_retentions_of_its_batches() -> None:
    chunk = SegmentChunk(b"", 0, 0, array("q", [61]), array("b", [1]), 0)

    assert dict(zip(chunk.positions, chunk.retentions, strict=True)) == {61: 1}


def test_counts_start_at_zero() -> None:
    assert PassCounts() == PassCounts(batches_read=0, stream=0)
