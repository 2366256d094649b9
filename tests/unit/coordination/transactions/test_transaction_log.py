"""Records of `__transaction_state`; the vectors of version 1 were read from Kafka 4.3."""

import pytest

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.transactions.transaction_log import (
    partitions_of_topics,
    read_transaction,
    topics_of_partitions,
    transaction_record,
    transactional_id_of,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import InvalidRecordError
from cordwood.protocol.messages.internal import (
    TRANSACTION_RECORDS,
    TransactionLogKey,
    TransactionLogValue,
)
from tests.unit.coordination.transaction_samples import BILLS, ORDERS, metadata, tp

TIMES = "00000000000007d000000000000003e8"
STORED = [
    each
    for each in TransactionState
    if each not in {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}
]


def value_of(found: TransactionMetadata, *, version: int = 1) -> str:
    _, value = encode_record(transaction_record(found, version=version))
    assert value is not None
    return value.hex()


def read(record: CoordinatorRecord) -> TransactionMetadata:
    key, value = encode_record(record)
    stored = decode_record(TRANSACTION_RECORDS, key, value=value)
    assert stored is not None
    return read_transaction(stored)


def test_key_has_kafkas_bytes() -> None:
    key, _ = encode_record(
        transaction_record(metadata()._replace(transactional_id="tid"), version=1)
    )

    assert key.hex() == "00000003746964"


def test_version_0_has_kafkas_bytes() -> None:
    found = TransactionMetadata(
        "tid",
        7,
        60_000,
        2_000,
        producer_epoch=1,
        state=TransactionState.ONGOING,
        partitions=frozenset({tp("topic-0")}),
        start_ms=1_000,
    )

    assert value_of(found, version=0) == (
        "0000" "0000000000000007" "0001" "0000ea60" "01"
        "00000001" "0005746f706963" "00000001" "00000000" + TIMES
    )  # fmt: skip


def test_empty_state_of_version_0_has_null_partitions() -> None:
    found = TransactionMetadata("tid", 7, 60_000, 2_000, producer_epoch=1)

    assert value_of(found, version=0) == (
        "0000" "0000000000000007" "0001" "0000ea60" "00" "ffffffff"
        "00000000000007d0" "ffffffffffffffff"
    )  # fmt: skip


def test_first_record_of_an_id_has_kafkas_bytes() -> None:
    created = TransactionMetadata("tid", 0, 60_000, 2_000)

    found = created.with_next_epoch(60_000, last_epoch=-1, now_ms=2_000)

    assert value_of(found) == (
        "0001" "0000000000000000" "0000" "0000ea60" "00" "00"
        "00000000000007d0" "ffffffffffffffff" "01" "00080000000000000000"
    )  # fmt: skip


def test_record_of_transactions_v2_has_the_clients_level() -> None:
    found = TransactionMetadata(
        "tid",
        0,
        60_000,
        2_000,
        producer_epoch=0,
        previous_producer_id=0,
        state=TransactionState.ONGOING,
        partitions=frozenset({tp("txt-0")}),
        start_ms=1_000,
        client_version=2,
    )

    assert value_of(found) == (
        "0001" "0000000000000000" "0000" "0000ea60" "01"
        "02" "04747874" "02" "00000000" "00" + TIMES + "02" "00080000000000000000" "02020002"
    )  # fmt: skip


def test_complete_record_has_an_empty_list_of_partitions() -> None:
    found = metadata(TransactionState.COMPLETE_COMMIT, (0, 1))._replace(
        last_update_ms=2_000, start_ms=1_000, client_version=2
    )

    assert value_of(found) == (
        "0001" "0000000000000000" "0001" "0000ea60" "04" "01" + TIMES
        + "02" "00080000000000000000" "02020002"
    )  # fmt: skip


def test_next_producer_id_is_between_prepare_and_complete() -> None:
    prepared = metadata(TransactionState.PREPARE_COMMIT, (1, 32_767))._replace(next_producer_id=2)

    tags = value_of(prepared)[-42:]

    assert tags == "020008000000000000000101080000000000000002"
    assert value_of(prepared.completed(2_000)).endswith("0100080000000000000001")


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize("version", (0, 1))
def test_read_record_is_the_written_one(state: TransactionState, version: int) -> None:
    found = metadata(state)
    written = found._replace(previous_producer_id=-1) if version == 0 else found

    assert read(transaction_record(found, version=version)) == written


def test_partitions_are_in_the_order_of_their_topics() -> None:
    found = metadata(TransactionState.ONGOING)._replace(
        partitions=frozenset({ORDERS, BILLS, tp("orders-2")})
    )

    value = transaction_record(found, version=1).value

    assert isinstance(value, TransactionLogValue)
    assert [(each.topic, each.partition_ids) for each in value.transaction_partitions or ()] == [
        ("bills", [1]),
        ("orders", [0, 2]),
    ]


def test_expired_id_is_a_tombstone() -> None:
    record = transaction_record(metadata().to(TransactionState.DEAD), version=1)

    assert record == CoordinatorRecord(0, TransactionLogKey(transactional_id="payments"), None)
    assert transactional_id_of(record) == "payments"


@pytest.mark.parametrize("status", (6, 7, 8, -1))
def test_record_of_a_state_that_is_never_written_is_rejected(status: int) -> None:
    record = transaction_record(metadata(), version=1)
    assert isinstance(record.value, TransactionLogValue)
    record.value.transaction_status = status

    with pytest.raises(InvalidRecordError, match="never written"):
        read_transaction(record)


def test_partitions_are_grouped_by_topic_in_order() -> None:
    topics = [("bills", [1]), ("orders", [0, 2])]

    partitions = partitions_of_topics(topics)

    assert partitions == {BILLS, ORDERS, tp("orders-2")}
    assert topics_of_partitions(partitions) == topics
