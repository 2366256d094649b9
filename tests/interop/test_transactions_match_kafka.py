"""The coordinator's answers, states and records are Kafka 4.3's, for seeded random requests.

Each seed is one transactional id with requests of both versions: right and wrong producers,
repeated and contradictory ends. A running Kafka and a shard get the same ones. After each request
the end of a decided transaction is awaited. Producer ids are numbered in the order of their
appearance; times are left out. Kafka's results of partitions are in the order of a hash map.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

import pytest

from cordwood.coordination.coordinator_record import decode_record
from cordwood.coordination.transactions.transaction_log import transactional_id_of
from cordwood.coordination.transactions.transaction_metadata import (
    LAST_CLIENT_EPOCH,
    TransactionMetadata,
)
from cordwood.core.errors import (
    InvalidProducerEpochError,
    ProducerFencedError,
    UnknownServerError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from cordwood.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.internal import (
    TRANSACTION_RECORDS,
    PartitionsSchema,
    TransactionLogValue,
)
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.wire import Connection, ask
from tests.unit.coordination.transaction_samples import (
    NOW,
    TIMEOUT_MS,
    Producer,
    TransactionHarness,
    add_request,
    codes_by_partition,
    tp,
)

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SEEDS: Final = 2_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 100
REQUESTS: Final = 25
TOPICS: Final = ("match-0", "match-1", "match-2")
#: Ids whose epochs run out; each takes 32,766 requests.
EXHAUSTED_IDS: Final = 6
#: Bytes of a batch before those that its length counts.
LENGTH_END: Final = 12


class State(NamedTuple):
    """A description without times; the topics are those of DescribeTransactions."""

    code: int
    state: str
    producer: tuple[int, int]
    timeout_ms: int
    topics: frozenset[str]


class KafkaCoordinator:
    """One transactional id at a running Kafka."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._bootstrap = bootstrap
        self._id = transactional_id

    def init(self, expected: tuple[int, int], timeout_ms: int, version: int) -> Producer:
        request = InitProducerIdRequest(
            transactional_id=self._id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        found = ask(self._bootstrap, request, version, answer=InitProducerIdResponse)
        return Producer(found.error_code, found.producer_id, found.producer_epoch)

    def end(self, producer: tuple[int, int], version: int, *, commit: bool) -> Producer:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        found = ask(self._bootstrap, request, version, answer=EndTxnResponse)
        return Producer(found.error_code, found.producer_id, found.producer_epoch)

    def add(
        self,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        version: int,
        *,
        verify: bool,
    ) -> dict[TopicPartition, int]:
        request = add_request(
            producer, partitions, transactional_id=self._id, version=version, verify=verify
        )
        found = ask(self._bootstrap, request, version, answer=AddPartitionsToTxnResponse)
        return codes_by_partition(found)

    def add_offsets(self, producer: tuple[int, int], version: int) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id="match",
        )
        found = ask(self._bootstrap, request, version, answer=AddOffsetsToTxnResponse)
        return found.error_code

    def state(self) -> State:
        """Return the state, once no transaction ends any more."""
        request = DescribeTransactionsRequest(transactional_ids=[self._id])
        end = time.monotonic() + PATIENCE_S
        while True:
            found = ask(self._bootstrap, request, 0, answer=DescribeTransactionsResponse)
            state = state_of(found)
            if not state.state.startswith("Prepare"):
                return state
            assert time.monotonic() < end, state
            time.sleep(0.002)


def state_of(response: DescribeTransactionsResponse) -> State:
    (only,) = response.transaction_states
    return State(
        only.error_code,
        only.transaction_state,
        (only.producer_id, only.producer_epoch),
        only.transaction_timeout_ms,
        frozenset(
            f"{topic.topic}-{number}" for topic in only.topics for number in topic.partitions
        ),
    )


class OurCoordinator:
    """The same id in a shard."""

    def __init__(self, transactional_id: str) -> None:
        self.harness = TransactionHarness()
        self._id = transactional_id

    def init(self, expected: tuple[int, int], timeout_ms: int, version: int) -> Producer:
        return self.harness.init(
            self._id, expected=expected, timeout_ms=timeout_ms, version=version
        )

    def end(self, producer: tuple[int, int], version: int, *, commit: bool) -> Producer:
        return self.harness.end(producer, commit=commit, transactional_id=self._id, version=version)

    def add(
        self,
        producer: tuple[int, int],
        partitions: list[TopicPartition],
        version: int,
        *,
        verify: bool,
    ) -> dict[TopicPartition, int]:
        request = add_request(
            producer, partitions, transactional_id=self._id, version=version, verify=verify
        )
        return codes_by_partition(self.harness.add_all(request, version))

    def add_offsets(self, producer: tuple[int, int], version: int) -> int:
        return self.harness.add_offsets(
            producer,
            group="match",
            transactional_id=self._id,
            version=version,
            offsets_partitions=1,
        )

    def state(self) -> State:
        if self.harness.markers:
            self.harness.complete(self._id)
        return state_of(self.harness.describe(self._id))


class Twins:
    """Both coordinators of one id; producer ids are compared by their order."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self.id = f"match-{seed}"
        self.random = random.Random(seed)
        self.kafka = KafkaCoordinator(bootstrap, self.id)
        self.ours = OurCoordinator(self.id)
        self.kafka_ids = [-1]
        self.our_ids = [-1]
        #: The producer of the client, by its number.
        self.producer = (0, -1)
        self.lines: list[str] = []

    def begin_with(self, producer: tuple[int, int]) -> None:
        """Continue with a producer that Kafka has initialized."""
        self.kafka_ids.append(producer[0])
        self.our_ids.append(producer[0])
        self.ours.harness.next_producer_id = producer[0] + 1
        created = TransactionMetadata(self.id, producer[0], TIMEOUT_MS, NOW, producer[1] - 1)
        self.ours.harness.put(created.with_next_epoch(TIMEOUT_MS, last_epoch=-1, now_ms=NOW))
        self.producer = (1, producer[1])

    def kafka_producer(self, producer: tuple[int, int]) -> tuple[int, int]:
        return self.kafka_ids[producer[0]], producer[1]

    def our_producer(self, producer: tuple[int, int]) -> tuple[int, int]:
        return self.our_ids[producer[0]], producer[1]

    def step(self) -> None:
        """Send one random request to both, and compare answers and states."""
        name = self.random.choice(["init", "add", "add", "add", "offsets", "end", "end", "end"])
        found = getattr(self, f"_{name}")()
        self.lines.append(f"{name}: {found[0]} {found[1]}")
        assert found[0] == found[1], self.text
        kafka, ours = self.kafka.state(), self.ours.state()
        self.lines.append(f"  {kafka}")
        assert self._numbered(kafka, self.kafka_ids) == self._numbered(ours, self.our_ids), (
            f"{self.text}\n{ours}"
        )

    @property
    def text(self) -> str:
        return "\n".join((self.id, *self.lines))

    @staticmethod
    def _numbered(state: State, ids: list[int]) -> State:
        producer_id, epoch = state.producer
        if state.code == 0 and producer_id not in ids:
            ids.append(producer_id)
        return state._replace(producer=(ids.index(producer_id) if state.code == 0 else 0, epoch))

    def _requested(self) -> tuple[int, int]:
        """Return the client's producer, sometimes another one or another epoch."""
        number, epoch = self.producer
        if self.random.random() < 0.05:
            number = 0
        shift = self.random.choice([0, 0, 0, 0, 0, -1, 1])
        return number, max(-1, epoch + shift)

    def _answered(self, kafka: Producer, ours: Producer) -> tuple[object, object]:
        """Compare two producers, and use them if they are the next ones."""
        for found, ids in ((kafka, self.kafka_ids), (ours, self.our_ids)):
            if found.producer_id not in ids:
                ids.append(found.producer_id)
        kafka_number = self.kafka_ids.index(kafka.producer_id)
        our_number = self.our_ids.index(ours.producer_id)
        if kafka.code == 0 and kafka_number:
            self.producer = (kafka_number, kafka.producer_epoch)
        return (
            (kafka.code, kafka_number, kafka.producer_epoch),
            (ours.code, our_number, ours.producer_epoch),
        )

    def _init(self) -> tuple[object, object]:
        expected = self._requested() if self.random.random() < 0.5 else (0, -1)
        timeout_ms = self.random.choice([60_000, 30_000, 0, 900_001])
        version = self.random.choice([3, 4, 5])
        kafka = self.kafka.init(self.kafka_producer(expected), timeout_ms, version)
        ours = self.ours.init(self.our_producer(expected), timeout_ms, version)
        # Kafka fails if no epoch is left and another one than the current is expected.
        if kafka.code == UnknownServerError.code:
            assert ours.code in {InvalidProducerEpochError.code, ProducerFencedError.code}
            return None, None
        return self._answered(kafka, ours)

    def _add(self) -> tuple[object, object]:
        producer = self._requested()
        partitions = [tp(each) for each in TOPICS if self.random.random() < 0.5]
        version = self.random.choice([0, 1, 2, 3, 4, 5, 5])
        verify = version > 3 and self.random.random() < 0.4
        return (
            self.kafka.add(self.kafka_producer(producer), partitions, version, verify=verify),
            self.ours.add(self.our_producer(producer), partitions, version, verify=verify),
        )

    def _offsets(self) -> tuple[object, object]:
        producer, version = self._requested(), self.random.choice([1, 4])
        return (
            self.kafka.add_offsets(self.kafka_producer(producer), version),
            self.ours.add_offsets(self.our_producer(producer), version),
        )

    def _end(self) -> tuple[object, object]:
        producer, commit = self._requested(), self.random.random() < 0.5
        version = self.random.choice([1, 4, 5, 5, 5])
        return self._answered(
            self.kafka.end(self.kafka_producer(producer), version, commit=commit),
            self.ours.end(self.our_producer(producer), version, commit=commit),
        )


@pytest.fixture(scope="module")
def bootstrap(broker43: Broker) -> str:
    """The address of a Kafka with the topic of this test, its coordinators and producer ids."""
    address = broker43.bootstrap
    topic = CreatableTopic(
        name="match", num_partitions=3, replication_factor=1, assignments=[], configs=[]
    )
    ask(
        address,
        CreateTopicsRequest(topics=[topic], timeout_ms=30_000),
        7,
        answer=CreateTopicsResponse,
    )
    for key_type in (0, 1):
        find = FindCoordinatorRequest(key="match", key_type=key_type)
        wait_until_served(partial(ask, address, find, 3, answer=FindCoordinatorResponse))
    begin = InitProducerIdRequest(transactional_id="begin", transaction_timeout_ms=1_000)
    wait_until_served(partial(ask, address, begin, 5, answer=InitProducerIdResponse))
    return address


def wait_until_served(
    call: Callable[[], FindCoordinatorResponse] | Callable[[], InitProducerIdResponse],
) -> None:
    """Repeat a request until it succeeds."""
    end = time.monotonic() + PATIENCE_S
    while call().error_code:
        assert time.monotonic() < end, "the coordinator does not serve"
        time.sleep(0.1)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_answers_states_and_records_are_kafkas(broker43: Broker, bootstrap: str, seed: int) -> None:
    twins = Twins(bootstrap, seed)

    for _ in range(REQUESTS):
        twins.step()

    stored = [*kafka_records(broker43, twins.id)]
    written = [value for _, value in twins.ours.harness.log]
    assert [normalized(each, twins.kafka_ids) for each in stored] == [
        normalized(each, twins.our_ids) for each in written
    ], twins.text


def test_epochs_run_out_as_in_kafka(bootstrap: str) -> None:
    """The epochs of some ids come close to their end, so that their producer ids are replaced."""
    seeds = range(SEEDS, SEEDS + EXHAUSTED_IDS)
    with ThreadPoolExecutor(EXHAUSTED_IDS) as pool:
        producers = [*pool.map(partial(raise_epoch, bootstrap), map("match-{}".format, seeds))]

    replaced = 0
    for seed, producer in zip(seeds, producers, strict=True):
        twins = Twins(bootstrap, seed)
        twins.begin_with(producer)
        for _ in range(4 * REQUESTS):
            twins.step()
        replaced += len(twins.kafka_ids[2:])
    assert replaced >= EXHAUSTED_IDS


def raise_epoch(bootstrap: str, transactional_id: str) -> tuple[int, int]:
    """Initialize an id's producer until few epochs are left; return it."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS
    )
    with Connection(bootstrap) as connection:
        while True:
            found = connection.ask(request, 5, answer=InitProducerIdResponse)
            assert found.error_code == 0, found
            if found.producer_epoch == LAST_CLIENT_EPOCH - 3:
                return found.producer_id, found.producer_epoch


def kafka_records(broker: Broker, transactional_id: str) -> Iterator[bytes | None]:
    """Yield the values of an id's records in Kafka's log."""
    for path in sorted((broker.logs / "__transaction_state-0").glob("*.log")):
        for record in (each for batch in batches_of(path.read_bytes()) for each in batch.records()):
            found = decode_record(TRANSACTION_RECORDS, record.key, value=record.value)
            if found is not None and transactional_id_of(found) == transactional_id:
                yield record.value


def batches_of(data: bytes) -> Iterator[RecordBatch]:
    """Yield the batches of a segment, up to the end or to a part that is not written yet."""
    at = 0
    while size := int.from_bytes(data[at + 8 : at + LENGTH_END]):
        yield RecordBatch(data[at : at + LENGTH_END + size])
        at += LENGTH_END + size


def normalized(value: bytes | None, ids: list[int]) -> bytes | None:
    """Return the bytes of a record with numbers for producer ids, and without times."""
    if value is None:
        return None
    version = int.from_bytes(value[:2])
    found = decode(TransactionLogValue, value[2:], version)
    for name in ("producer_id", "previous_producer_id", "next_producer_id"):
        setattr(found, name, ids.index(getattr(found, name)))
    found.transaction_last_update_timestamp_ms = 0
    found.transaction_start_timestamp_ms = min(found.transaction_start_timestamp_ms, 0)
    found.transaction_partitions = found.transaction_partitions and [
        PartitionsSchema(topic=each.topic, partition_ids=sorted(each.partition_ids))
        for each in sorted(found.transaction_partitions, key=lambda each: each.topic)
    ]
    return value[:2] + joined(encode(found, version))
