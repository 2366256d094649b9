"""Batches become ready in time, and stay within the buffer memory."""

import pytest

from cordwood.client.producer.partition_queue import NewRecord, ProducerBatch, ProducerIdentity
from cordwood.client.producer.record_accumulator import RecordAccumulator
from cordwood.client.settings import ProducerOptions, ProducerSettings
from cordwood.core.errors import MessageTooLargeError, NetworkError


def accumulator(**options: object) -> RecordAccumulator:
    given: ProducerOptions = {"bootstrap_servers": ("a:1",), **options}  # type: ignore[typeddict-item]  # by name
    return RecordAccumulator(ProducerSettings(**given))


def record(size: int = 10) -> NewRecord:
    return NewRecord("t", None, None, bytes(size), 1, (), size + 36)


def taken(gathered: RecordAccumulator, now_ms: float = 1_000) -> list[ProducerBatch]:
    return [gathered.take(queue) for queue in list(gathered.due(now_ms))]


def test_batch_is_due_after_it_has_lingered() -> None:
    gathered = accumulator(linger_ms=20)
    gathered.append(record(), 0, now_ms=100)

    assert not list(gathered.due(119))
    assert gathered.next_due_ms(100) == 120
    assert list(gathered.due(120))


def test_full_batch_does_not_linger() -> None:
    gathered = accumulator(linger_ms=20, batch_size=1_000)
    for _ in range(20):
        gathered.append(record(100), 0, now_ms=100)

    assert list(gathered.due(100))


def test_retried_batch_waits_for_its_backoff() -> None:
    gathered = accumulator(linger_ms=0)
    gathered.append(record(), 0, now_ms=0)
    (batch,) = taken(gathered)

    gathered.queue("t", 0).retry(batch, 500)

    assert not list(gathered.due(499))
    assert list(gathered.due(500))


def test_batch_is_due_immediately_during_a_flush() -> None:
    gathered = accumulator(linger_ms=20)
    gathered.append(record(), 0, now_ms=100)

    gathered.flushes = 1

    assert list(gathered.due(100))


def test_each_partition_has_separate_batches() -> None:
    gathered = accumulator(linger_ms=0)
    for partition in (0, 1, 0):
        gathered.append(record(), partition, now_ms=0)

    assert sorted(batch.builder.count for batch in taken(gathered)) == [1, 2]


def test_memory_above_the_limit_is_rejected_until_a_batch_is_released() -> None:
    gathered = accumulator(buffer_memory=1_000, linger_ms=0)
    assert gathered.append(record(800), 0, now_ms=0)
    assert gathered.append(record(800), 0, now_ms=0) is None

    gathered.succeed(taken(gathered)[0], base_offset=0, log_append_time=-1)

    assert gathered.used_bytes == 0
    assert gathered.append(record(800), 0, now_ms=0)


def test_record_above_the_memory_is_accepted_when_the_queue_is_empty() -> None:
    gathered = accumulator(buffer_memory=100)

    assert gathered.append(record(800), 0, now_ms=0)


def test_record_above_max_request_size_is_rejected_with_its_size() -> None:
    gathered = accumulator(max_request_size=500)

    with pytest.raises(MessageTooLargeError, match=r"t-3.*max_request_size=500"):
        gathered.append(record(800), 3, now_ms=0)
    assert gathered.used_bytes == 0


def test_batch_expires_with_its_last_error() -> None:
    gathered = accumulator(delivery_timeout_ms=100, linger_ms=0)
    gathered.append(record(), 0, now_ms=0)
    assert not list(gathered.expired(99))

    (batch,) = gathered.expired(100)
    gathered.fail(batch, NetworkError("gone"))

    assert str(batch.result.error) == "gone"
    assert gathered.incomplete() == []
    assert gathered.used_bytes == 0


def test_blocked_batch_is_due_at_its_delivery_timeout() -> None:
    gathered = accumulator(delivery_timeout_ms=100, linger_ms=0)
    gathered.append(record(), 0, now_ms=0)

    assert gathered.next_due_ms(50) == 100


def test_incomplete_batches_are_those_in_flight_and_unsent() -> None:
    gathered = accumulator(linger_ms=0)
    gathered.append(record(), 0, now_ms=0)
    sent = taken(gathered)
    gathered.append(record(), 1, now_ms=0)

    assert len(gathered.incomplete()) == 2
    assert sent[0] in gathered.incomplete()
    assert [batch.result.partition.partition for batch in gathered.unsent()] == [1]


def test_topic_is_in_use_while_a_batch_is_pending_or_recent() -> None:
    gathered = accumulator(metadata_max_idle_ms=10_000, linger_ms=0)
    gathered.append(record(), 0, now_ms=0)

    assert gathered.topics_in_use(20_000) == {"t"}

    (batch,) = taken(gathered)
    gathered.succeed(batch, base_offset=0, log_append_time=-1)

    assert gathered.topics_in_use(10_000) == {"t"}
    assert gathered.topics_in_use(10_001) == set()


def test_queue_of_an_unused_topic_is_dropped_unless_it_has_sequences() -> None:
    gathered = accumulator(metadata_max_idle_ms=10_000, linger_ms=0)
    for identity in (None, ProducerIdentity(1, 0)):
        gathered.identity = identity
        gathered.append(record(), 0, now_ms=0)
        queue = gathered.queue("t", 0)
        (batch,) = taken(gathered)
        gathered.succeed(batch, base_offset=0, log_append_time=-1)
        gathered.topics_in_use(10_001)

        assert (gathered.queue("t", 0) is queue) == (identity is not None)
