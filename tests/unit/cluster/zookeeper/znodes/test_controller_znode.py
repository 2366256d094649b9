"""Tests of the nodes of the controller; the contents were written by Kafka 3.9.1."""

import pytest

from cordwood.cluster.zookeeper.znodes.controller_znode import (
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from cordwood.core.errors import DamagedFileError

V2 = b'{"version":2,"brokerid":4,"timestamp":"1700000000000","kraftControllerEpoch":-1}'
V1 = b'{"version":1,"brokerid":4,"timestamp":"1700000000000"}'


def test_controller_is_written_as_by_kafka() -> None:
    assert encode_controller(4, timestamp_ms=1_700_000_000_000) == V2


@pytest.mark.parametrize("data", (V1, V2))
def test_controller_of_both_versions_is_read(data: bytes) -> None:
    assert decode_controller(data) == 4


def test_controller_epoch_is_decimal_text() -> None:
    assert encode_controller_epoch(17) == b"17"
    assert decode_controller_epoch(b"17") == 17
    with pytest.raises(DamagedFileError, match="/controller_epoch"):
        decode_controller_epoch(b"x")


def test_unusable_controller_is_an_error() -> None:
    with pytest.raises(DamagedFileError, match="/controller"):
        decode_controller(b"{}")
