"""Clients on a hostile network, with this package's broker; planted mistakes prove the scenes.

`tests/interop/test_hostile_network.py` has the same scenes with Apache Kafka.
"""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

import pytest

from cordwood.client.consumer import fetcher
from cordwood.client.consumer.completed_fetch import CompletedFetch, completed_fetch
from cordwood.client.network import in_flight_requests
from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.producer.batch_result import BatchResult
from cordwood.client.producer.partition_queue import PartitionQueue, ProducerBatch
from cordwood.core.binary import bytes_view
from cordwood.core.errors import CorruptMessageError
from cordwood.core.types import TopicPartition
from cordwood.protocol.header import read_response_header
from cordwood.records.batch_stream import batches
from cordwood.records.decoder import AbortedTransaction
from cordwood.testing.kafka_fixture import Kafka
from tests.hostile_network import (
    HEADER_BITS,
    LAST_OFFSET_DELTA,
    Report,
    call,
    consume,
    damage,
    produce,
)

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
RECORDS: Final = 20_000 if SOAK else 400
ROUNDS: Final = 50 if SOAK else 2
BITS: Final = (
    HEADER_BITS if SOAK else (*LAST_OFFSET_DELTA, *random.Random(1).sample(HEADER_BITS, 30))
)
TOPIC: Final = "hostile"

T = TypeVar("T")
AddLine = Callable[[str], None]

pytestmark = pytest.mark.timeout(7200 if SOAK else 300)


def run(scene: Coroutine[object, object, T]) -> T:
    return asyncio.run(scene)


def produced(kafka: Kafka, *, records: int = 60, seed: int = 3) -> Report:
    return run(produce(kafka.bootstrap, TOPIC, records=records, seed=seed))


@pytest.mark.parametrize(("codec", "seed"), (("none", 1), ("zstd", 2)))
def test_producer_writes_every_record_once_and_in_order(
    kafka: Kafka, report: AddLine, codec: str, seed: int
) -> None:
    found = run(produce(kafka.bootstrap, TOPIC, records=RECORDS, seed=seed, codec=codec))

    report(f"hostile network, producer, {codec}, seed {seed}: {found}")
    assert found.findings == []
    assert found.done["acknowledged"] > RECORDS / 2
    assert {"close", "delay", "swallow"} <= set(found.injected)


def test_consumer_reads_every_record_once_and_in_order(kafka: Kafka, report: AddLine) -> None:
    run(produce(kafka.bootstrap, TOPIC, records=RECORDS, seed=3))

    found = run(consume(kafka.bootstrap, TOPIC, seed=3))

    report(f"hostile network, consumer: {found}")
    assert found.findings == []
    assert found.injected.total() > 0


def test_turned_bit_is_reported_or_harmless(kafka: Kafka, report: AddLine) -> None:
    produced(kafka, records=200)

    found = run(damage(kafka.bootstrap, TOPIC, bits=BITS))

    report(f"hostile network, damage: {found}")
    assert found.findings == []
    assert found.done["turned bits"] == len(BITS)
    assert found.done["errors"] >= len(BITS) - 1


def test_calls_end_within_their_limits(kafka: Kafka, report: AddLine) -> None:
    produced(kafka, records=1)

    found = run(call(kafka.bootstrap, TOPIC, rounds=ROUNDS, seed=5))

    report(f"hostile network, calls: {found}")
    assert found.findings == []
    assert found.injected["drop"] + found.injected["hang"] > 0


# Planted mistakes.


def checksum_after_the_skip(
    partition: TopicPartition,
    data: bytes,
    *,
    offset: int,
    aborted: tuple[AbortedTransaction, ...] | None = None,
    check_crcs: bool = True,
) -> tuple[CompletedFetch, CorruptMessageError | None]:
    """Decide which batches lie before the position by fields that are not verified."""
    kept = [bytes(each.data) for each in batches(bytes_view(data)) if each.next_offset > offset]
    return completed_fetch(
        partition, b"".join(kept), offset=offset, aborted=aborted, check_crcs=check_crcs
    )


async def without_a_deadline(
    self: ClientRuntime,
    ms: float,
    work: Coroutine[object, object, T],
    *,
    timeout_error: Callable[[], Exception],
) -> T:
    return await work


def numbered_again(self: PartitionQueue, batch: ProducerBatch, not_before_ms: float) -> None:
    """Give a batch a new sequence after any failure, as if it were certainly not written."""
    self.in_flight.remove(batch)
    batch.not_before_ms = not_before_ms
    batch.is_uncertain = False
    self._put_back(batch)
    self.restart()


def matched_by_order_alone(self: InFlightRequests, frame: bytearray) -> memoryview:
    request = self._waiting.popleft()
    view = memoryview(frame)
    _, at = read_response_header(view, request.api, version=request.version)
    return view[at:]


def raising_callbacks(self: BatchResult) -> None:
    while self._callbacks:
        self._callbacks.popleft()[1]()


def test_checksum_after_the_skip_is_found(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    produced(kafka, records=200)
    monkeypatch.setattr(fetcher, "completed_fetch", checksum_after_the_skip)

    found = run(damage(kafka.bootstrap, TOPIC, bits=LAST_OFFSET_DELTA))

    assert found.findings == ["records are missing after bit 191 was turned"]


def test_wait_without_a_deadline_is_found(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    produced(kafka, records=1)
    monkeypatch.setattr(ClientRuntime, "run_with_timeout", without_a_deadline)

    found = run(call(kafka.bootstrap, TOPIC, rounds=1, seed=5))

    assert any("and its limit is" in each for each in found.findings)


def test_new_sequence_for_an_uncertain_batch_is_found(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartitionQueue, "retry", numbered_again)

    found = produced(kafka, records=200)

    assert any("records are duplicates" in each for each in found.findings)


def test_response_matched_to_the_wrong_request_is_found(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight_requests.InFlightRequests, "complete", matched_by_order_alone)

    found = produced(kafka, records=200)

    assert any("have another offset" in each or "missing" in each for each in found.findings)


def test_escaping_error_of_a_callback_is_found(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchResult, "_run_callbacks", raising_callbacks)

    found = produced(kafka)

    assert found.findings != []
