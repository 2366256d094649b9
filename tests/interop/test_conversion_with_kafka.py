"""Conversion from the old formats agrees with Kafka: uncompressed byte for byte, compressed record
for record. Kafka 3.9 is the last version that converts on produce; the cleaner of 4.3 still does.
"""

from dataclasses import replace
from typing import Final

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.records.batch_stream import batches
from cordwood.records.format_conversion import up_convert
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.log_validator import ValidationParameters, validate
from cordwood.storage.validation.record_set_analysis import analyze
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.ours import read_ours, write_ours
from tests.interop.kafka_harness.spec import LEGACY_CODECS, Json, SeenBatch, text

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

FIRST_OFFSET: Final = 70
LEADER_EPOCH: Final = 5
UNLIMITED: Final = LogConfig(message_timestamp_after_max_ms=INT64_MAX)


def _sized_as_one(seen: list[SeenBatch]) -> list[SeenBatch]:
    """Return the fields that two compressors can agree on."""
    return [replace(batch, crc=0, size=0) for batch in seen]


def _validated(data: bytes) -> bytes:
    """Return a produced set as our leader stores it, in v2."""
    info = analyze(
        data,
        AppendOrigin.CLIENT,
        max_message_bytes=UNLIMITED.max_message_bytes,
        leader_epoch=LEADER_EPOCH,
    )
    append = ValidationParameters(FIRST_OFFSET, LEADER_EPOCH, now_ms=0)
    stored = validate(
        bytearray(data), info, append=append, config=UNLIMITED, inspector=PlainInspector()
    )
    return bytes(stored.data)


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize("name", ("plain", "nulls", "unordered", "many"))
@pytest.mark.parametrize("magic", (0, 1))
def test_up_conversion_on_produce_agrees_with_kafka(
    kafka39: Oracle, magic: int, name: str, codec: str
) -> None:
    data = write_ours(dict(samples.legacy_specs(magic))[f"{name}-{codec}"])
    place: dict[str, Json] = {
        "first_offset": FIRST_OFFSET,
        "partition_leader_epoch": LEADER_EPOCH,
    }
    target: dict[str, Json] = {"magic": 2, "codec": codec, "timestamp_type": 0}

    ours = _validated(data)

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

    (batch,) = (batch for batch in batches(data) if isinstance(batch, LegacyBatch))
    ours = bytes(up_convert(batch, list(batch.records())))

    theirs = kafka43.ask_bytes("filter", {"bytes": text(data), "kept_offsets": kept, **times})
    assert _sized_as_one(read_ours(ours)) == _sized_as_one(kafka43.read(theirs))
