"""Metadata and assignments of classic groups, with bytes of Java's client."""

import pytest

from cordwood.client.group.assignors.assignor import SubscribedMember
from cordwood.client.group.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import BytesError

T0, T1 = partitions_of([("t", 0), ("t", 1)])


def test_subscription_has_version_topics_owned_partitions_and_generation() -> None:
    data = encode_subscription(["t"], [T1, T0], generation=3)

    assert data.hex() == (
        "000200000001000174ffffffff0000000100017400000002000000000000000100000003"
    )
    found = decode_subscription(data, member_id="m", instance_id="i")
    assert found == SubscribedMember("m", frozenset({"t"}), (T0, T1), 3, "i")


def test_subscription_of_a_newer_version_is_read() -> None:
    newer = (9).to_bytes(2) + encode_subscription(["t"], [], generation=1)[2:] + b"\x00\x01r\x00"

    assert decode_subscription(newer, member_id="m").topics == {"t"}


def test_assignment_is_grouped_by_topic() -> None:
    assert decode_assignment(encode_assignment([T1, T0])) == [T0, T1]
    assert decode_assignment(b"") == []


@pytest.mark.parametrize("data", (b"\x00", b"\xff\xff"))
def test_metadata_without_a_valid_version_are_rejected(data: bytes) -> None:
    with pytest.raises(BytesError):
        decode_subscription(data, member_id="m")
