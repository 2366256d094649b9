"""Kafka's classes and ours reject the same damage, so the comparisons can fail."""

import struct
from typing import Final

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.oracle import Oracle, OracleRefusalError
from tests.interop.kafka_harness.ours import read_ours, write_ours
from tests.interop.kafka_harness.spec import CODECS

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

V2: Final = dict(samples.v2_specs())


@pytest.mark.parametrize("codec", CODECS)
def test_flipped_bit_is_rejected_by_both(kafka43: Oracle, codec: str) -> None:
    data = bytearray(write_ours(V2[f"plain-{codec}"]))
    data[-5] ^= 1

    with pytest.raises(OracleRefusalError) as theirs:
        kafka43.read(data)
    with pytest.raises(CorruptMessageError):
        read_ours(data)

    assert theirs.value.kind == "CorruptRecordException"


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", (2, 4))
def test_wrong_count_is_rejected_by_both(kafka43: Oracle, codec: str, count: int) -> None:
    data = bytearray(write_ours(V2[f"plain-{codec}"]))
    struct.pack_into(">i", data, 57, count)
    struct.pack_into(">I", data, 17, crc32c(data[21:]))

    with pytest.raises(OracleRefusalError) as theirs:
        kafka43.read(data)
    with pytest.raises(InvalidRecordError):
        read_ours(data)

    assert theirs.value.kind == "InvalidRecordException"
