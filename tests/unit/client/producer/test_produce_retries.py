"""Decisions about batches by error code."""

import pytest

from cordwood.client.producer.partition_queue import NewRecord, ProducerBatch, ProducerIdentity
from cordwood.client.producer.produce_retries import (
    decide_error,
    is_delivered,
    is_split,
    may_be_written,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
)
from cordwood.records.batch_builder import BatchBuilder


def batch(topic: str = "t", partition: int = 0, *, is_numbered: bool = True) -> ProducerBatch:
    (place,) = partitions_of([(topic, partition)])
    made = ProducerBatch(place, BatchBuilder(), number=(0,), created_ms=0)
    made.append(NewRecord(topic, partition, None, b"v", 1, (), 40))
    if is_numbered:
        made.set_sequence(ProducerIdentity(7, 0), 5)
    return made


def response(code: int) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=0, error_code=code, base_offset=-1)


@pytest.mark.parametrize(
    ("code", "is_gap_final", "expected"),
    (
        (6, True, (True, False, False)),  # not the leader
        (45, False, (True, False, False)),  # a gap that batches in flight will close
        (45, True, (True, True, False)),  # a permanent gap
        (59, True, (True, True, False)),  # the broker has no state for the producer id
        (47, True, (True, True, True)),  # the epoch is fenced
        (10, True, (False, False, False)),  # too large
    ),
)
def test_decision_follows_the_error_code(
    code: int, *, is_gap_final: bool, expected: tuple[bool, bool, bool]
) -> None:
    assert decide_error(response(code), batch(), is_gap_final=is_gap_final)[1:] == expected


def test_gap_is_final_for_a_producer_without_sequences() -> None:
    verdict = decide_error(response(45), batch(is_numbered=False), is_gap_final=True)

    assert not verdict.is_retried


def test_error_names_partition_reason_and_remedy() -> None:
    assert "t-0" in str(decide_error(response(10), batch(), is_gap_final=True).error)
    assert "max.message.bytes" in str(decide_error(response(10), batch(), is_gap_final=True).error)


def test_error_names_the_invalid_records() -> None:
    answer = response(87)
    answer.error_message = "one or more records"
    answer.record_errors = [
        BatchIndexAndErrorMessage(batch_index=3, batch_index_error_message="no key")
    ]

    error = decide_error(answer, batch(), is_gap_final=True).error

    assert str(error) == "t-0: one or more records; record 3: no key"


@pytest.mark.parametrize(
    ("code", "before", "expected"),
    (
        (6, False, True),  # a leader that lost its role while replicas were copying
        (19, False, False),  # too few replicas: checked before the write
        (19, True, True),  # and before duplicates are looked for
        (45, True, False),  # not a duplicate
        (47, True, False),
        (59, True, False),
    ),
)
def test_error_shows_whether_the_batch_may_be_written(
    code: int, *, before: bool, expected: bool
) -> None:
    assert may_be_written(code, before=before) is expected


def test_gap_before_an_acknowledged_batch_is_a_duplicate() -> None:
    assert is_delivered(response(45), is_written=True)
    assert not is_delivered(response(45), is_written=False)
    assert not is_delivered(response(6), is_written=True)


def test_batch_of_several_records_above_the_limit_is_split() -> None:
    large = batch()
    large.append(NewRecord("t", 0, None, b"v", 1, (), 40))

    assert is_split(10, large)
    assert not is_split(87, large)
    assert not is_split(10, batch())


def test_uncertain_batch_is_not_split() -> None:
    large = batch()
    large.append(NewRecord("t", 0, None, b"v", 1, (), 40))
    large.is_uncertain = True

    assert not is_split(10, large)
