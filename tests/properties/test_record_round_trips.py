"""A built batch is read back the same, in all formats and with all codecs."""

from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.format_conversion import up_convert
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Header, Record, TimestampType
from cordwood.records.record_batch import RecordBatch

INT32 = (1 << 31) - 1
GAP = 1_000

Content = tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]

nullable = st.none() | st.binary(max_size=40)
timestamps = st.integers(-1, INT64_MAX) | st.integers(1_700_000_000_000, 1_700_000_001_000)
headers = st.lists(st.tuples(st.text(max_size=8), nullable), max_size=3).map(tuple)
gaps = st.just(0) | st.integers(0, GAP)
contents = st.lists(st.tuples(gaps, timestamps, nullable, nullable, headers), min_size=1)
base_offsets = st.integers(0, INT32) | st.integers(INT64_MAX - 10_000_000, INT64_MAX - 5_000_000)
codecs = st.sampled_from(Codec)
old_codecs = st.sampled_from([codec for codec in Codec if codec is not Codec.ZSTD])
magics: st.SearchStrategy[LegacyMagic] = st.sampled_from((0, 1))


@st.composite
def fields(draw: st.DrawFn) -> BatchFields:
    """Any header that a broker may see."""
    has_producer = draw(st.booleans())
    return BatchFields(
        base_offset=draw(base_offsets),
        partition_leader_epoch=draw(st.integers(-1, INT32)),
        codec=draw(codecs),
        log_append_time_ms=draw(st.none() | st.integers(0, INT64_MAX)),
        producer_id=draw(st.integers(0, INT64_MAX)) if has_producer else -1,
        producer_epoch=draw(st.integers(0, 32767)) if has_producer else -1,
        base_sequence=draw(st.integers(0, INT32)) if has_producer else -1,
        is_transactional=has_producer and draw(st.booleans()),
        delete_horizon_ms=draw(st.none() | st.integers(0, INT64_MAX)),
    )


def expected(header: BatchFields, records: list[Content]) -> list[Record]:
    """Return what the records of a v2 batch have to read like, from the rules alone."""
    stamp = header.log_append_time_ms
    found, offset = [], header.base_offset - 1
    for gap, timestamp, key, value, entries in records:
        offset += 1 + gap
        sequence = (header.base_sequence + offset - header.base_offset) % (INT32 + 1)
        found.append(
            Record(
                offset,
                timestamp if stamp is None else stamp,
                TimestampType.CREATE_TIME if stamp is None else TimestampType.LOG_APPEND_TIME,
                key,
                value,
                entries,
                sequence if header.base_sequence >= 0 else -1,
            )
        )
    return found


@given(fields(), contents)
def test_v2_records_round_trip(header: BatchFields, records: list[Content]) -> None:
    builder = BatchBuilder(header)
    offset = header.base_offset - 1
    for gap, timestamp, key, value, entries in records:
        offset += 1 + gap
        builder.append(key, value, timestamp=timestamp, headers=entries, offset=offset)

    batch = RecordBatch(builder.build())

    batch.ensure_valid()
    assert BatchFields.of(batch) == header
    assert list(batch.records()) == expected(header, records)


@given(fields(), contents)
def test_v2_batch_rebuilt_from_its_records_has_the_same_bytes(
    header: BatchFields, records: list[Content]
) -> None:
    header = header._replace(log_append_time_ms=None)
    builder = BatchBuilder(header)
    for _, timestamp, key, value, entries in records:
        builder.append(key, value, timestamp=timestamp, headers=entries)
    first = builder.build()

    again = BatchBuilder(BatchFields.of(RecordBatch(first)))
    for record in RecordBatch(first).records():
        again.append_record(record)

    assert again.build() == first


@given(magics, old_codecs, base_offsets, contents)
def test_old_records_round_trip(
    magic: LegacyMagic, codec: Codec, base_offset: int, records: list[Content]
) -> None:
    builder = LegacyBuilder(magic, base_offset=base_offset, codec=codec)
    sent, offset = [], base_offset - 1
    for gap, timestamp, key, value, _ in records:
        offset = builder.append(key, value, timestamp=timestamp, offset=offset + 1 + gap)
        sent.append((offset, timestamp if magic else -1, key, value))

    found = list(batches(builder.build()))

    assert all(batch.is_crc_valid() for batch in found)
    assert [
        (r.offset, r.timestamp, r.key, r.value) for batch in found for r in batch.records()
    ] == sent


@given(magics, old_codecs, contents)
def test_records_survive_conversion_to_v2(
    magic: LegacyMagic, codec: Codec, records: list[Content]
) -> None:
    builder = LegacyBuilder(magic, base_offset=7, codec=codec)
    for _, timestamp, key, value, _ in records:
        builder.append(key, value, timestamp=timestamp)
    old = [batch for batch in batches(builder.build()) if isinstance(batch, LegacyBatch)]

    converted = [RecordBatch(up_convert(batch, list(batch.records()))) for batch in old]

    assert [
        (r.offset, r.timestamp, r.key, r.value) for batch in converted for r in batch.records()
    ] == [(r.offset, r.timestamp, r.key, r.value) for batch in old for r in batch.records()]
