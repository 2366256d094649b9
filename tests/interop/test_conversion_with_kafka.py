"""Conversion between the formats agrees with Kafka 3.9, the last that converts: uncompressed byte
for byte, compressed record for record.
"""

from dataclasses import replace
from typing import Final, Literal

import pytest

from cordwood.core.errors import UnsupportedCompressionTypeError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.format_conversion import down_convert, up_convert, up_convert_produced
from cordwood.records.legacy_batch import LegacyBatch
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.oracle import Oracle, OracleRefusalError
from tests.interop.kafka_harness.ours import read_ours, write_ours
from tests.interop.kafka_harness.spec import LEGACY_CODECS, Json, SeenBatch, text

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

V2: Final = dict(samples.v2_specs())
NAMES: Final = (
    "plain",
    "nulls",
    "unordered",
    "headers",
    "many",
    "transactional",
    "log-append-time",
    "delete-horizon",
)
MIXED: Final = [(name, codec) for name in NAMES for codec in LEGACY_CODECS]


def _sized_as_one(seen: list[SeenBatch]) -> list[SeenBatch]:
    """Return the fields that two compressors can agree on."""
    return [replace(batch, crc=0, size=0) for batch in seen]


def _down_converted(kafka39: Oracle, data: bytes, magic: int, first_offset: int) -> bytes:
    return kafka39.ask_bytes(
        "down_convert", {"bytes": text(data), "magic": magic, "first_offset": first_offset}
    )


@pytest.mark.parametrize("magic", (0, 1))
@pytest.mark.parametrize(("name", "codec"), MIXED)
def test_down_conversion_of_v2_agrees_with_kafka(
    kafka39: Oracle, name: str, codec: str, magic: Literal[0, 1]
) -> None:
    data = write_ours(V2[f"{name}-{codec}"])

    ours = bytes(down_convert(batches(data), magic))

    theirs = _down_converted(kafka39, data, magic, 0)
    assert codec != "none" or ours.hex() == theirs.hex()
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka39.read(theirs))


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("name", ("plain", "nulls", "many", "log-append-time"))
def test_down_conversion_of_v1_agrees_with_kafka(kafka39: Oracle, name: str, codec: str) -> None:
    data = write_ours(dict(samples.legacy_specs(1))[f"{name}-{codec}"])

    ours = bytes(down_convert(batches(data), 0))

    theirs = _down_converted(kafka39, data, 0, 0)
    assert codec != "none" or ours.hex() == theirs.hex()
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka39.read(theirs))


def test_down_conversion_of_a_log_leaves_out_what_kafka_leaves_out(kafka39: Oracle) -> None:
    marker = kafka39.ask_bytes("marker", samples.marker("ABORT"))
    names = ("gaps-none", "plain-gzip", "transactional-none")
    data = marker.join(write_ours(V2[name]) for name in names)

    ours = bytes(down_convert(batches(data), 1, first_offset=2))

    theirs = _down_converted(kafka39, data, 1, 2)
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka39.read(theirs))


def test_down_conversion_refuses_zstd_as_kafka_does(kafka39: Oracle) -> None:
    data = write_ours(V2["plain-zstd"])

    with pytest.raises(OracleRefusalError, match="UnsupportedCompressionType"):
        _down_converted(kafka39, data, 1, 0)
    with pytest.raises(UnsupportedCompressionTypeError):
        down_convert(batches(data), 1)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("name", ("plain", "nulls", "unordered", "many"))
@pytest.mark.parametrize("magic", (0, 1))
def test_up_conversion_on_produce_agrees_with_kafka(
    kafka39: Oracle, magic: int, name: str, codec: str
) -> None:
    data = write_ours(dict(samples.legacy_specs(magic))[f"{name}-{codec}"])
    place: dict[str, Json] = {"first_offset": 70, "partition_leader_epoch": 5}
    target: dict[str, Json] = {"magic": 2, "codec": codec, "timestamp_type": 0}
    fields = BatchFields(base_offset=70, partition_leader_epoch=5, codec=Codec.from_name(codec))

    ours = bytes(up_convert_produced(_legacy(data), fields))

    theirs = kafka39.ask_bytes("validate", {"bytes": text(data), **place, **target})
    assert codec != "none" or ours.hex() == theirs.hex()
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka39.read(theirs))


@pytest.mark.parametrize("codec", LEGACY_CODECS[1:])
@pytest.mark.parametrize("name", ("plain", "gaps", "many"))
@pytest.mark.parametrize("magic", (0, 1))
def test_up_conversion_in_a_log_agrees_with_kafkas_cleaner(
    kafka43: Oracle, magic: int, name: str, codec: str
) -> None:
    """Kafka 4 rewrites an old wrapper as v2 when it cleans it, offsets unchanged."""
    spec = dict(samples.legacy_specs(magic))[f"{name}-{codec}"]
    data = write_ours(spec)
    kept: list[Json] = [record.offset for record in spec.records]
    times: dict[str, Json] = {"now_ms": samples.NOON, "delete_retention_ms": 60_000}

    (batch,) = _legacy(data)
    ours = bytes(up_convert(batch))

    theirs = kafka43.ask_bytes("filter", {"bytes": text(data), "kept_offsets": kept, **times})
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka43.read(theirs))


def _legacy(data: bytes) -> list[LegacyBatch]:
    return [batch for batch in batches(data) if isinstance(batch, LegacyBatch)]
