"""JSON of messages: Kafka's names, Base64, ids, and the fields of a version."""

from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.internal import (
    MemberMetadata,
    OffsetCommitValue,
    TransactionLogValue,
)
from cordwood.workbench.dump.message_json import json_text, message_to_json


def offset(*, topic_id: Uuid = NO_UUID) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=7, leader_epoch=2, metadata="m", commit_timestamp=9, topic_id=topic_id
    )


def test_fields_are_those_of_the_version() -> None:
    assert message_to_json(offset(), 2) == {"offset": 7, "metadata": "m", "commitTimestamp": 9}
    assert message_to_json(offset(), 3)["leaderEpoch"] == 2


def test_tagged_field_is_omitted_with_its_default() -> None:
    topic_id = Uuid(bytes(15) + b"\1")

    assert "topicId" not in message_to_json(offset(), 4)
    assert message_to_json(offset(topic_id=topic_id), 4)["topicId"] == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_bytes_are_base64_and_null_is_null() -> None:
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        session_timeout=1,
        subscription=b"\xff",
        assignment=memoryview(b""),
    )

    found = message_to_json(member, 3)

    assert (found["subscription"], found["assignment"]) == ("/w==", "")
    assert found["groupInstanceId"] is None


def test_null_list_is_null() -> None:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=1,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=1,
        transaction_start_timestamp_ms=-1,
    )

    assert message_to_json(value, 0)["transactionPartitions"] is None


def test_text_has_javas_escapes() -> None:
    assert json_text({"a": '\x1f\n"ü'}) == '{"a":"\\u001F\\n\\"ü"}'


def test_text_of_a_backslash_before_digits_stays() -> None:
    assert json_text("\\u001f") == '"\\\\u001f"'
