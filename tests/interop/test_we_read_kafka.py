"""Our reader finds the same records in Kafka's batches as Kafka's own classes."""

from typing import Final

import pytest

from cordwood.core.errors import InvalidRecordError
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.oracle import Oracle, OracleRefusalError
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import Json, Spec, text, without_sequences

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

V2: Final = dict(samples.v2_specs())
LEGACY: Final = {
    f"v{magic}-{name}": spec for magic in (0, 1) for name, spec in samples.legacy_specs(magic)
}


@pytest.mark.parametrize("spec", V2.values(), ids=V2)
def test_v2_reads_as_kafka_wrote_it(kafka43: Oracle, spec: Spec) -> None:
    data = kafka43.write(spec)

    (batch,) = read_ours(data)

    assert without_sequences(batch.records) == samples.as_read(spec)
    assert [batch] == kafka43.read(data)


@pytest.mark.parametrize("spec", LEGACY.values(), ids=LEGACY)
def test_legacy_reads_as_kafka_wrote_it(kafka43: Oracle, spec: Spec) -> None:
    data = kafka43.write(spec)

    batches = read_ours(data)

    assert tuple(record for batch in batches for record in batch.records) == spec.records
    assert batches == kafka43.read(data)


@pytest.mark.parametrize("codec", ("none", "gzip", "zstd"))
@pytest.mark.parametrize("kept", ([0, 1, 2], [1], [0, 2]), ids=str)
def test_filtered_batch_reads_as_kafka_wrote_it(
    kafka43: Oracle, codec: str, kept: list[Json]
) -> None:
    written = kafka43.write(V2[f"transactional-{codec}"])

    data = _filtered(kafka43, written, kept)

    assert read_ours(data) == kafka43.read(data)
    assert [record.offset for batch in read_ours(data) for record in batch.records] == kept


def test_first_cleaning_of_a_marker_sets_a_delete_horizon(kafka43: Oracle) -> None:
    marker = kafka43.ask_bytes("marker", samples.marker("COMMIT"))

    data = _filtered(kafka43, marker, [43])

    (batch,) = read_ours(data)
    assert batch.delete_horizon_ms == samples.NOON + 60_000
    assert [batch] == kafka43.read(data)


@pytest.mark.parametrize("codec", ("none", "gzip", "snappy", "lz4", "zstd"))
def test_first_cleaning_of_tombstones_sets_a_delete_horizon(kafka43: Oracle, codec: str) -> None:
    written = kafka43.write(V2[f"nulls-{codec}"])

    data = _filtered(kafka43, written, [0, 3, 6, 8])

    (batch,) = read_ours(data)
    assert batch.delete_horizon_ms == samples.NOON + 60_000
    assert {record.timestamp for record in batch.records} == {samples.NOON}
    assert [batch] == kafka43.read(data)


def test_retained_empty_batch_reads_as_kafka_wrote_it(kafka43: Oracle) -> None:
    written = kafka43.write(V2["transactional-gzip"])

    data = _filtered(kafka43, written, [])

    (batch,) = read_ours(data)
    assert (batch.size, batch.count, batch.last_offset, batch.last_sequence) == (61, 0, 2, 7)
    assert [batch] == kafka43.read(data)


@pytest.mark.parametrize("kind", ("COMMIT", "ABORT"))
def test_marker_reads_as_kafka_wrote_it(kafka43: Oracle, kind: str) -> None:
    data = kafka43.ask_bytes("marker", samples.marker(kind))

    (batch,) = read_ours(data)

    assert batch.is_control
    assert [batch] == kafka43.read(data)


@pytest.mark.parametrize("magic", (0, 1))
@pytest.mark.parametrize("codec", ("none", "gzip", "snappy", "lz4"))
def test_moved_batch_reads_as_kafka_moved_it(kafka43: Oracle, magic: int, codec: str) -> None:
    written = kafka43.write(LEGACY[f"v{magic}-plain-{codec}"])

    data = kafka43.ask_bytes("patch", {"bytes": text(written), "last_offset": 500})

    assert read_ours(data) == kafka43.read(data)


def test_v1_wrapper_offset_below_its_last_record_is_rejected_by_both(kafka43: Oracle) -> None:
    written = kafka43.write(LEGACY["v1-plain-gzip"])
    data = kafka43.ask_bytes("patch", {"bytes": text(written), "last_offset": 1})

    with pytest.raises(OracleRefusalError):
        kafka43.read(data)
    with pytest.raises(InvalidRecordError):
        read_ours(data)


def _filtered(kafka43: Oracle, data: bytes, kept: list[Json]) -> bytes:
    question: dict[str, Json] = {"bytes": text(data), "kept_offsets": kept, "keeps_empty": True}
    times: dict[str, Json] = {"now_ms": samples.NOON, "delete_retention_ms": 60_000}
    return kafka43.ask_bytes("filter", {**question, **times})
