"""Batches keep their order and their sequences through errors and retries."""

from cordwood.client.producer.partition_queue import (
    RETAINED_BATCHES,
    NewBatch,
    NewRecord,
    PartitionQueue,
    ProducerBatch,
    ProducerIdentity,
    max_record_bytes,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.records.batch_builder import BatchFields, EncodedRecords

(PARTITION,) = partitions_of([("t", 0)])
ME = ProducerIdentity(7, 0)


def record(value: bytes = b"v") -> NewRecord:
    return NewRecord("t", None, None, value, 1, (), 40)


def queue_of(batches: int, *, batch_size: int = 1) -> PartitionQueue:
    """Return a queue with this many batches of one record."""
    queue = PartitionQueue(PARTITION, BatchFields(), batch_size=batch_size)
    for _ in range(batches):
        queue.append(record(), 0)
    return queue


def numbers(*batches: ProducerBatch) -> list[tuple[int, int | None]]:
    return [(each.builder.fields.producer_epoch, each.base_sequence) for each in batches]


def test_records_share_a_batch_until_it_is_full() -> None:
    queue = PartitionQueue(PARTITION, BatchFields(), batch_size=150)

    news = [queue.append(record(), 0).is_wakeup_due for _ in range(8)]

    assert [batch.builder.count for batch in queue.waiting] == [7, 1]
    assert news == [True, *[False] * 6, True]
    assert queue.waiting[0].is_full


def test_encoded_batch_is_queued_between_the_records_around_it() -> None:
    queue = queue_of(1, batch_size=1_000)

    appended = queue.append(NewBatch("t", 0, EncodedRecords(bytes(80), 3, 5, 9)), 0)
    queue.append(record(), 0)

    assert [batch.builder.count for batch in queue.waiting] == [1, 3, 1]
    assert [batch.is_full for batch in queue.waiting] == [True, True, False]
    assert appended.is_wakeup_due
    assert queue.waiting[1].size == queue.waiting[1].reserved == 141


def test_retried_batch_accepts_no_more_records() -> None:
    queue = queue_of(1, batch_size=1_000)
    sent = queue.take(None)
    queue.retry(sent, 0)

    queue.append(record(), 0)

    assert [batch.builder.count for batch in queue.waiting] == [1, 1]


def test_sequences_follow_each_other() -> None:
    queue = queue_of(3)

    assert numbers(*(queue.take(ME) for _ in range(3))) == [(0, 0), (0, 1), (0, 2)]


def test_first_batch_of_an_identity_is_in_flight_alone() -> None:
    queue = queue_of(3)

    first = queue.take(ME)
    assert queue.next_batch is None
    queue.acknowledge(first)
    queue.take(ME)

    assert queue.next_batch is not None


def test_batches_without_an_identity_have_no_sequence() -> None:
    queue = queue_of(1)

    assert queue.take(None).builder.fields.producer_id == -1


def test_retried_batches_are_sent_first_and_in_order() -> None:
    queue = queue_of(3)
    first, second = queue.take(ME), queue.take(ME)

    queue.retry(second, 0)
    queue.retry(first, 100)

    assert queue.next_batch is first
    assert first.not_before_ms == 100
    again = [queue.take(ME) for _ in range(3)]
    assert again[:2] == [first, second]
    assert numbers(*again) == [(0, 0), (0, 1), (0, 2)]


def test_gap_before_a_batch_that_may_be_written_is_not_final_while_a_later_one_is_sent() -> None:
    queue = queue_of(2)
    first, second = queue.take(ME), queue.take(ME)
    assert queue.is_gap_final(first)
    assert not queue.is_gap_final(second)

    first.is_uncertain = True

    assert not queue.is_gap_final(first)
    queue.retry(second, 0)
    assert queue.is_gap_final(first)


def test_gap_before_a_batch_is_not_final_while_a_later_one_waits_that_may_be_written() -> None:
    queue = queue_of(2)
    first, second = queue.take(ME), queue.take(ME)
    first.is_uncertain = second.is_uncertain = True

    queue.retry(second, 0)

    assert not queue.is_gap_final(first)
    second.is_uncertain = False
    assert queue.is_gap_final(first)


def test_gap_is_final_once_the_leader_has_answered_about_each_batch_that_was_in_doubt() -> None:
    queue = queue_of(RETAINED_BATCHES)
    batches = [queue.take(ME) for _ in range(RETAINED_BATCHES)]
    for each in batches:
        each.is_uncertain = True
    rounds = 0

    while not queue.is_gap_final(batches[0]):
        rounds += 1
        for each in batches:
            queue.retry(each, 0)
        assert [queue.take(ME) for _ in batches] == batches
        for each in batches:  # all are in flight when the first one is answered
            each.is_uncertain = queue.may_be_forgotten(each)
        assert rounds < RETAINED_BATCHES

    assert [each.is_uncertain for each in batches] == [True] + [False] * (RETAINED_BATCHES - 1)


def test_batch_is_next_when_all_before_it_are_acknowledged() -> None:
    queue = queue_of(2)
    first, second = queue.take(ME), queue.take(ME)
    assert not queue.is_next(second)

    queue.acknowledge(first)

    assert queue.is_next(second)


def test_restart_waits_for_batches_in_flight() -> None:
    queue = queue_of(3)
    first, second = queue.take(ME), queue.take(ME)

    queue.restart()
    queue.retry(first, 0)

    assert queue.next_batch is None
    queue.retry(second, 0)
    assert queue.next_batch is first


def test_restart_numbers_waiting_batches_from_zero_under_the_next_epoch() -> None:
    queue = queue_of(3)
    queue.acknowledge(queue.take(ME))
    second = queue.take(ME)
    queue.restart()
    queue.retry(second, 0)

    assert numbers(queue.take(ME), queue.take(ME)) == [(1, 0), (1, 1)]
    assert queue.is_next(second)


def test_failed_batch_that_was_sent_causes_a_restart() -> None:
    queue = queue_of(2)
    queue.give_up(queue.take(ME))

    assert numbers(queue.take(ME)) == [(1, 0)]


def test_failed_batch_that_was_never_sent_causes_no_restart() -> None:
    queue = queue_of(2)
    queue.give_up(queue.waiting[0])

    assert numbers(queue.take(ME)) == [(0, 0)]


def test_exhausted_epochs_require_a_new_producer_id() -> None:
    queue = queue_of(2)
    last = ProducerIdentity(7, 0x7FFF)
    queue.give_up(queue.take(last))
    assert queue.needs_new_producer_id(last)

    assert not queue.needs_new_producer_id(ProducerIdentity(8, 0))
    assert queue.take(ProducerIdentity(8, 0)).builder.fields.producer_id == 8


def test_new_producer_id_is_used_when_no_batch_has_the_old_one() -> None:
    queue = queue_of(2)
    queue.acknowledge(queue.take(ME))

    assert numbers(queue.take(ProducerIdentity(9, 3))) == [(3, 0)]


def test_record_size_never_exceeds_its_reservation() -> None:
    headers = [("ü" * 40, b"x" * 300)] * 3
    size = max_record_bytes(b"k" * 1_000, b"v" * 70_000, headers=headers)
    huge = NewRecord("t", None, b"k" * 1_000, b"v" * 70_000, 1 << 50, headers, size)
    queue = PartitionQueue(PARTITION, BatchFields(), batch_size=1 << 20)
    queue.append(record(), 0)
    before = queue.waiting[0].size

    queue.append(huge, 0)

    assert queue.waiting[0].size - before <= size


def test_uncertain_batch_stays_after_its_timeout_and_keeps_its_sequence() -> None:
    queue = queue_of(3)
    queue.acknowledge(queue.take(ME))
    first = queue.take(ME)
    first.is_uncertain = True
    queue.retry(first, 0)

    queue.expire(first)

    assert queue.take(ME) is first
    assert numbers(first, queue.take(ME)) == [(0, 1), (0, 2)]


def test_batch_that_was_not_written_is_dropped_at_its_timeout() -> None:
    queue = queue_of(3)
    queue.acknowledge(queue.take(ME))
    queue.retry(queue.take(ME), 0)

    queue.expire(queue.waiting[0])

    assert numbers(queue.take(ME)) == [(1, 0)]


def test_uncertain_batch_without_a_sequence_is_dropped_at_its_timeout() -> None:
    queue = queue_of(1)
    batch = queue.take(None)
    batch.is_uncertain = True
    queue.retry(batch, 0)

    queue.expire(batch)

    assert queue.next_batch is None


def test_restart_waits_for_the_answer_about_an_uncertain_batch() -> None:
    queue = queue_of(4)
    queue.acknowledge(queue.take(ME))
    rejected, uncertain = queue.take(ME), queue.take(ME)
    uncertain.is_uncertain = True
    queue.retry(uncertain, 0)
    queue.give_up(rejected)

    assert numbers(queue.take(ME)) == [(0, 2)]
    assert queue.next_batch is None
    queue.acknowledge(uncertain)
    assert numbers(queue.take(ME)) == [(1, 0)]


def test_batch_behind_one_that_was_not_written_is_numbered_again() -> None:
    queue = queue_of(3)
    queue.acknowledge(queue.take(ME))
    rejected, behind = queue.take(ME), queue.take(ME)
    behind.is_uncertain = True
    queue.retry(behind, 0)
    queue.retry(rejected, 0)
    queue.restart()

    assert numbers(queue.take(ME), queue.take(ME)) == [(1, 0), (1, 1)]
    assert not behind.is_uncertain


def test_batch_before_an_acknowledged_one_is_written() -> None:
    queue = queue_of(4)
    queue.acknowledge(queue.take(ME))
    first, second = queue.take(ME), queue.take(ME)

    queue.acknowledge(second)

    assert queue.is_written(first)
    queue.acknowledge(first)
    assert queue.is_next(queue.take(ME))


def test_no_more_batches_are_in_flight_than_a_broker_remembers() -> None:
    queue = queue_of(10)
    queue.acknowledge(queue.take(ME))

    for _ in range(5):
        queue.take(ME)

    assert queue.next_batch is None


def test_oldest_pending_batch_is_one_without_a_result() -> None:
    queue = PartitionQueue(PARTITION, BatchFields(), batch_size=1)
    for now_ms in (10, 20, 30):
        queue.append(record(), now_ms)
    sent = queue.take(ME)
    assert queue.oldest_pending_ms == 10

    sent.result.succeed(0, -1)

    assert queue.oldest_pending_ms == 20


def test_halves_of_a_batch_take_its_place_and_its_sequences() -> None:
    queue = PartitionQueue(PARTITION, BatchFields(), batch_size=300)
    for _ in range(12):
        queue.append(record(), 0)
    queue.append(NewBatch("t", 0, EncodedRecords(bytes(80), 3, 5, 9)), 0)
    large, behind = queue.take(ME), queue.waiting[0]
    count, reserved = large.builder.count, large.reserved

    queue.split(large)

    halves = [queue.take(ME), queue.waiting[0]]
    assert [each.builder.count for each in halves] == [count // 2, count - count // 2]
    assert numbers(*halves) == [(0, 0), (0, count // 2)]
    assert sum(each.reserved for each in halves) == reserved
    assert queue.waiting[1] is behind


def test_half_of_a_half_keeps_its_place_when_it_is_retried() -> None:
    queue = queue_of(1, batch_size=10_000)
    for _ in range(7):
        queue.append(record(), 0)
    queue.split(queue.take(ME))
    queue.split(queue.take(ME))
    first = queue.take(ME)

    queue.retry(first, 0)

    assert [each.base_sequence for each in queue.waiting] == [0, 2, 4]
