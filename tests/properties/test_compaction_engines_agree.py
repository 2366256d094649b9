"""The kernels mark and rewrite like the plain engine, byte by byte, and raise the same errors.

Segments have all formats, codecs and kinds of batches, valid or not, with any retentions. The
memory of the key map ranges from a few keys to all keys.
"""

import random
from typing import Final, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import HASHES, Engine
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk, count_numbered
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import (
    NOW,
    batch,
    chunk,
    empty,
    marker,
    old,
    plan,
    with_horizon,
)

#: A key map of a few hundred bytes takes many ranges, each of which reads all again.
MEMORIES: Final = (450, 1000, 5000, 100_000)
HORIZONS: Final = (NOW - 5, NOW, NOW + 5)
RETENTIONS: Final = {
    True: (
        BatchRetention.CONTROL,
        BatchRetention.CONTROL | BatchRetention.DELETE,
        BatchRetention.CONTROL | BatchRetention.NEEDS_HORIZON,
        BatchRetention.CONTROL | BatchRetention.DELETE | BatchRetention.RETAIN_EMPTY,
    ),
    False: (
        BatchRetention.DELETE_EMPTY,
        BatchRetention.DELETE_EMPTY,
        BatchRetention.DELETE_EMPTY,
        BatchRetention.RETAIN_EMPTY,
        BatchRetention.DELETE,
    ),
}


class Segment(NamedTuple):
    """A chunk, how many records of it are numbered, and the offset behind the last one."""

    chunk: SegmentChunk
    records: int
    end_offset: int


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Segments that are sound."""
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    parts: list[bytes] = []
    retentions: dict[int, BatchRetention] = {}
    offset = records = 0
    for _ in range(draw(st.integers(0, 8))):
        for each in batches(_drawn(chance, offset)):
            retention = chance.choice(RETENTIONS[each.is_control])
            if each.magic < 2:
                retention &= BatchRetention.RETAIN_EMPTY
            if retention:
                retentions[len(parts)] = retention
            parts.append(bytes(each.data))
            records += count_numbered(each)
            offset = each.last_offset + 1
    return Segment(
        chunk(*parts, retentions=retentions, modified_ms=draw(st.sampled_from((50, 150)))),
        records,
        offset,
    )


@st.composite
def damaged_segments(draw: st.DrawFn) -> Segment:
    """Segments of which a bit is wrong, or the end is missing."""
    segment = draw(segments())
    data = bytearray(segment.chunk.data)
    if data and draw(st.booleans()):
        data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    elif data:
        del data[draw(st.integers(0, len(data) - 1)) :]
    return segment._replace(chunk=segment.chunk._replace(data=bytes(data)))


def _drawn(chance: random.Random, offset: int) -> bytes:
    """Return a batch, or a few old messages."""
    kind = chance.random()
    if kind < 0.1:
        words = (chance.choice("abc-") + chance.choice(("1", "22", "-")) for _ in range(4))
        codec = Codec(chance.randrange(4))
        return old(offset, " ".join(words), magic=chance.choice((0, 1)), codec=codec)
    if kind < 0.2:
        return marker(offset, is_commit=chance.random() < 0.5)
    if kind < 0.25:
        return empty(batch(offset, "a1 b2"))
    fields = BatchFields(
        base_offset=offset,
        codec=Codec(chance.choice((0, 0, 0, 1, 2, 3, 4))),
        log_append_time_ms=chance.choice((None, None, NOW + 7)),
    )
    data = _written(chance, BatchBuilder(fields))
    return data if chance.random() < 0.8 else with_horizon(data, chance.choice(HORIZONS))


def _written(chance: random.Random, builder: BatchBuilder) -> bytes:
    for _ in range(chance.randrange(1, 30)):
        keys = (None, b"k%d" % chance.randrange(20), chance.randbytes(chance.randrange(30)))
        values = (None, b"", b"v" * chance.randrange(100), b"y" * chance.choice((1, 9000)))
        times = (5, -1, NOW + chance.randrange(10**7))
        headers = [("h", b"x")] if chance.random() < 0.2 else []
        builder.append(
            chance.choice(keys),
            chance.choice(values),
            timestamp=chance.choice(times),
            headers=headers,
        )
    return bytes(builder.build())


def marked(engine: Engine, segment: Segment, memory: int, first_dirty: int) -> object:
    """Return the marks that a key map leaves behind, or why it refuses."""
    marks = Marks(segment.records)
    key_map = engine.key_map(marks, memory, erased=frozenset({b"k7", b""}), seed=first_dirty)
    begin = 0
    try:
        while begin < HASHES:
            key_map.begin_range(begin)
            key_map.learn(segment.chunk, first_offset=first_dirty)
            key_map.look_up(segment.chunk, end_offset=first_dirty)
            begin = key_map.finish_range()
    except BadRecordsError as error:
        return type(error), str(error)
    return bytes(marks.latest), bytes(marks.tombstones), key_map.keys, key_map.unkeyed


def rewritten(engine: Engine, segment: Segment, seed: int) -> object:
    """Return what a rewriter leaves, twice over, or why it refuses."""
    chance, marks, counts = random.Random(seed), Marks(segment.records), PassCounts(stream=7)
    share = chance.choice((0.02, 0.5, 0.95, 1))
    for number in range(segment.records):
        set_bit(marks.latest, number, value=chance.random() < share)
        set_bit(marks.tombstones, number, value=chance.random() < 0.1)
    rewriter = engine.rewriter(plan(legacy_horizon_ms=100))
    try:
        first = bytes(rewriter.rewrite(segment.chunk, marks, counts=counts))
        return first, bytes(rewriter.rewrite(segment.chunk, marks, counts=counts)), counts
    except BadRecordsError as error:
        return type(error), str(error)


def surveyed(engine: Engine, segment: Segment, last_offset: int) -> object:
    """Return what a surveyor sees, or why it refuses."""
    try:
        return engine.surveyor((last_offset, last_offset // 2)).summarize(segment.chunk.data)
    except BadRecordsError as error:
        return type(error), str(error)


@given(segments() | damaged_segments(), st.sampled_from(MEMORIES), st.floats(0, 1, width=16))
def test_key_maps_set_the_same_marks(segment: Segment, memory: int, clean: float) -> None:
    first_dirty = int(clean * segment.end_offset)

    found = marked(KERNELS, segment, memory, first_dirty)

    assert found == marked(PLAIN, segment, memory, first_dirty)


@given(segments() | damaged_segments(), st.integers(0, 1 << 32))
def test_rewriters_write_the_same_bytes(segment: Segment, seed: int) -> None:
    assert rewritten(KERNELS, segment, seed) == rewritten(PLAIN, segment, seed)


@given(segments() | damaged_segments(), st.floats(0, 1, width=16))
def test_surveyors_have_the_same_result(segment: Segment, share: float) -> None:
    last_offset = int(share * segment.end_offset)

    assert surveyed(KERNELS, segment, last_offset) == surveyed(PLAIN, segment, last_offset)


@given(segments(), st.integers(1, 4))
def test_uncounted_records_are_rejected(segment: Segment, missing: int) -> None:
    """A file that has changed since it was surveyed must not be marked beyond the marks."""
    if segment.records < missing:
        return
    fewer = segment._replace(records=segment.records - missing)

    for outcome in (marked(KERNELS, fewer, 100_000, 0), rewritten(KERNELS, fewer, 1)):
        assert isinstance(outcome, tuple)
        assert issubclass(outcome[0], BadRecordsError)
