"""Records of the internal topics as JSON, and remarks for those that cannot be read."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.internal import (
    ConsumerProtocolSubscription,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from cordwood.protocol.schema import Data
from cordwood.workbench.dump.coordinator_record_parser import (
    OFFSETS_PARSER,
    TRANSACTION_LOG_PARSER,
)

GROUP_KEY = b"\0\2\0\1g"


def numbered(number: int, message: Data, version: int = 0) -> bytes:
    return number.to_bytes(2) + joined(encode(message, version))


def group(subscription: bytes, *, protocol_type: str = "consumer") -> bytes:
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        session_timeout=1,
        subscription=subscription,
        assignment=b"",
    )
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=1,
        protocol="range",
        leader="m",
        members=[member],
    )
    return numbered(3, value, 3)


def test_record_has_the_type_of_its_key_and_the_version_of_its_value() -> None:
    key = numbered(1, OffsetCommitKey(group="g", topic="t", partition=0))
    value = numbered(3, OffsetCommitValue(offset=5, metadata="", commit_timestamp=9), 3)

    key_text, value_text = OFFSETS_PARSER.texts(0, key=key, value=value)

    assert key_text == b'{"type":"1","data":{"group":"g","topic":"t","partition":0}}'
    assert value_text == (
        b'{"version":"3","data":{"offset":5,"leaderEpoch":-1,"metadata":"","commitTimestamp":9}}'
    )


def test_tombstone_is_marked() -> None:
    assert OFFSETS_PARSER.texts(0, key=GROUP_KEY, value=None)[1] == b"<DELETE>"


def test_subscription_of_a_consumer_is_decoded() -> None:
    subscription = numbered(1, ConsumerProtocolSubscription(topics=["t"]), 1)

    text = OFFSETS_PARSER.texts(0, key=GROUP_KEY, value=group(subscription))[1]

    assert text is not None
    assert b'"subscription":{"topics":["t"],"userData":null,"ownedPartitions":[]}' in text
    assert b'"assignment":""' in text


@pytest.mark.parametrize("subscription", (b"\0", b"\0\1\0\0", b"\0\x04\0\0\0\0"))
def test_subscription_that_cannot_be_read_stays(subscription: bytes) -> None:
    text = OFFSETS_PARSER.texts(0, key=GROUP_KEY, value=group(subscription))[1]

    assert text is not None
    assert b'"subscription":"A' in text


def test_subscription_of_another_protocol_stays() -> None:
    subscription = numbered(1, ConsumerProtocolSubscription(topics=["t"]), 1)

    text = OFFSETS_PARSER.texts(
        0, key=GROUP_KEY, value=group(subscription, protocol_type="connect")
    )[1]

    assert text is not None
    assert b'"subscription":"AAE' in text


@pytest.mark.parametrize(
    ("key", "value", "remark"),
    (
        (b"\0\x63", b"", "Unknown record type 99 at offset 8, skipping."),
        (b"\0", None, "Could not read version from key's buffer."),
        (GROUP_KEY, b"", "Could not read version from value's buffer."),
        (GROUP_KEY, b"\0\x09", "Found an unknown record version 9 for 2 type"),
        (b"\0\0\0\1g\0\1t\0\0\0\0", b"\0\1", "Found an unknown record version 1 for 0 type"),
        (b"\0\2\0\5g", None, "Could not read record with version 0 from key's buffer due to: "),
        (b"\0\x0a\0\1g", None, "Type 10 is not decoded by this version."),
    ),
)
def test_record_that_cannot_be_read_has_a_remark(
    key: bytes, value: bytes | None, remark: str
) -> None:
    key_text, value_text = OFFSETS_PARSER.texts(8, key=key, value=value)

    assert remark in key_text.decode()
    assert "offset 8, skipping." in key_text.decode()
    assert value_text is None


def test_other_topic_has_other_types() -> None:
    text = TRANSACTION_LOG_PARSER.texts(0, key=b"\0\x0a", value=None)[0]

    assert text == b"Unknown record type 10 at offset 0, skipping."


def test_record_without_a_key_is_an_error() -> None:
    with pytest.raises(InvalidRecordError, match="offset 3 cannot be decoded"):
        OFFSETS_PARSER.parse(3, key=None, value=b"value")
