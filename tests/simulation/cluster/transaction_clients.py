"""Clients of a simulated cluster with transactions and groups, each in a process of its own.

TransactionalProducer   commits and aborts transactions; some commit an offset of a group
CommittedReader         reads all partitions with read_committed
GroupReader             reads them as a member of a group, and commits
OffsetReader            fetches the committed offsets of all groups
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final

from cordwood.client.aio import Consumer, Producer
from cordwood.client.settings import ConsumerOptions
from cordwood.core.errors import KafkaError, ProducerFencedError
from tests.simulation.cluster.cluster_clients import ClusterClient
from tests.simulation.cluster.cluster_transactions import (
    OFFSETS_GROUP,
    READERS_GROUP,
    ClusterTransactions,
    Outcome,
    SentTransaction,
)
from tests.simulation.cluster.counted_zookeeper import TOPIC

USABLE: Final = "a transactional producer can be used again after an abort"

_POLL_MS: Final = 300
_PAUSE_MS: Final = 50
_TIMEOUT_MS: Final = 500
_CONNECT_MS: Final = 400


class TransactionClient(ClusterClient):
    """A client that notes what it sees; `partitions` is the number of the topic's."""

    partitions = 1
    is_done = False

    def begin(self, transactions: ClusterTransactions) -> None:
        """Work from now on."""
        self.transactions = transactions
        self.random = Random(f"{self.name} of {self.world.seed}")
        with self.process.running():
            self.process.begin(self._work())

    async def _work(self) -> None:
        await self.run()
        self.is_done = True

    async def run(self) -> None:
        """Work until `is_working` ends."""
        raise NotImplementedError

    def fail(self, call: str, error: KafkaError) -> None:
        """Note the error of a call."""
        self.world.note("{}: {} has failed: {!r}", self.name, call, error)
        self.world.count(f"{call} failed")

    def consumer(self, options: ConsumerOptions) -> Consumer[bytes, bytes]:
        """Return a consumer with the short times of a simulation."""
        common: ConsumerOptions = {
            "client_id": self.name,
            "isolation_level": "read_committed",
            "fetch_max_wait_ms": 200,
            "request_timeout_ms": _TIMEOUT_MS,
            "default_api_timeout_ms": 2_000,
            "socket_connection_setup_timeout_ms": _CONNECT_MS,
            "retry_backoff_ms": 20,
            "retry_backoff_max_ms": 100,
        }
        return Consumer(self.bootstrap, runtime=self.runtime, **common | options)


class TransactionalProducer(TransactionClient):
    """A producer whose transactional id is its name; `number` is the partition of its offsets."""

    number = 0
    _is_fenced = False

    async def run(self) -> None:
        while self.is_working:
            producer = Producer[bytes, bytes](
                self.bootstrap,
                runtime=self.runtime,
                client_id=self.name,
                transactional_id=self.name,
                transaction_timeout_ms=3_000,
                max_block_ms=self.random.choice((1_000, 4_000)),
                delivery_timeout_ms=self.random.choice((1_500, 4_000)),
                request_timeout_ms=_TIMEOUT_MS,
                socket_connection_setup_timeout_ms=_CONNECT_MS,
                retry_backoff_ms=20,
                retry_backoff_max_ms=100,
                linger_ms=0,
            )
            async with producer:
                await self._produce(producer)

    async def _produce(self, producer: Producer[bytes, bytes]) -> None:
        await self._begin(producer)
        self._is_fenced = False
        while self.is_working and await self._transaction(producer):
            await self.sleep(self.random.choice((1, 20, 100)))

    async def _begin(self, producer: Producer[bytes, bytes]) -> None:
        while self.is_working:
            try:
                await producer.init()
            except KafkaError as error:
                self.fail("inits", error)
                await self.sleep(_PAUSE_MS)
            else:
                return

    async def _transaction(self, producer: Producer[bytes, bytes]) -> bool:
        """Make one transaction; return whether the producer can be used again."""
        transaction = self.transactions.begin(self.name)
        is_commit = self.random.random() < 0.7
        try:
            await self._send(producer, transaction)
        except KafkaError as error:
            self.fail("sends", error)
            is_commit = False
        if is_commit:
            transaction.outcome = Outcome.UNKNOWN
            is_commit = await self._end(producer.commit, is_abort=False)
            if is_commit:
                transaction.outcome = Outcome.COMMITTED
                self.world.count("transactions committed")
                return True
            if self._is_fenced:
                return False
        transaction.outcome = Outcome.ABORTED
        is_ended = await self._end(producer.abort, is_abort=True)
        self.world.count("transactions aborted")
        return is_ended

    async def _end(self, end: Callable[[], Awaitable[None]], *, is_abort: bool) -> bool:
        """Repeat a commit or an abort; return whether it has succeeded."""
        while True:
            try:
                await end()
            except ProducerFencedError as error:  # the transaction has timed out
                self.fail("ends", error)
                self._is_fenced = True
                return False
            except KafkaError as error:
                self.fail("ends", error)
                if error.retriable:
                    await self.sleep(_PAUSE_MS)
                    continue
                if is_abort:
                    self.world.violate(USABLE, f"{self.name}: {error!r}")
                return False
            return True

    async def _send(self, producer: Producer[bytes, bytes], transaction: SentTransaction) -> None:
        random = self.random
        await producer.begin()
        for _ in range(random.choice((1, 2, 4))):
            partition = random.randrange(self.partitions)
            value = self.transactions.send(transaction, partition)
            await producer.send(TOPIC, value, partition=partition)
            if random.random() < 0.3:
                await self.sleep(random.choice((1, 30)))
        if random.random() < 0.6:
            offset = int(transaction.name.rpartition(":")[2])
            transaction.offset = self.number, offset
            await producer.send_offsets({(TOPIC, self.number): offset}, OFFSETS_GROUP)


class CommittedReader(TransactionClient):
    """A consumer of all partitions, from their start."""

    async def run(self) -> None:
        async with self.consumer({"auto_offset_reset": "none"}) as consumer:
            partitions = [(TOPIC, each) for each in range(self.partitions)]
            consumer.assign(partitions)
            for each in partitions:
                consumer.seek(each, 0)
            while self.is_working:
                try:
                    records = await consumer.poll(_POLL_MS)
                except KafkaError as error:
                    self.fail("polls", error)
                    await self.sleep(_PAUSE_MS)
                    continue
                for record in records:
                    assert record.value is not None
                    self.transactions.read(record.partition, record.offset, record.value)


class GroupReader(TransactionClient):
    """The only member of its group, which leaves and returns; `protocol` is that of the group."""

    protocol = "classic"

    async def run(self) -> None:
        options: ConsumerOptions = {
            "group_id": READERS_GROUP,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "max_poll_interval_ms": 5_000,
            "group_protocol": self.protocol,
        }
        if self.protocol == "classic":
            options |= {"session_timeout_ms": 2_000, "heartbeat_interval_ms": 200}
        while self.is_working:
            async with self.consumer(options) as consumer:
                consumer.subscribe([TOPIC])
                await self._consume(consumer)
                if self.random.random() < 0.3:
                    await consumer.unsubscribe()

    async def _consume(self, consumer: Consumer[bytes, bytes]) -> None:
        until_ms = self.world.now_ms + self.random.choice((800, 2_000, 9_000))
        while self.is_working and self.world.now_ms < until_ms:
            try:
                await self._poll(consumer)
            except KafkaError as error:
                self.fail("group polls", error)
                await self.sleep(_PAUSE_MS)

    async def _poll(self, consumer: Consumer[bytes, bytes]) -> None:
        records = await consumer.poll(_POLL_MS)
        for record in records:
            assert record.value is not None
            self.transactions.read_in_group(record.partition, record.value)
        if records and self.random.random() < 0.5:
            partition, end = records[-1].partition, records[-1].offset + 1
            await consumer.commit({(TOPIC, partition): end})
            self.transactions.commit(READERS_GROUP, partition, end)
            self.world.count("offsets committed")


class OffsetReader(TransactionClient):
    """A consumer per group without a membership, which fetches the committed offsets."""

    async def run(self) -> None:
        groups = (OFFSETS_GROUP, READERS_GROUP)
        while self.is_working:
            for group in groups:
                await self._look(group)

    async def _look(self, group: str) -> None:
        async with self.consumer({"group_id": group}) as consumer:
            for _ in range(4):
                await self._fetch(consumer, group)
                await self.sleep(_PAUSE_MS)

    async def _fetch(self, consumer: Consumer[bytes, bytes], group: str) -> None:
        partitions = [(TOPIC, each) for each in range(self.partitions)]
        before = [self.transactions.committed[group, each] for each in range(self.partitions)]
        try:
            found = await consumer.committed(partitions)
        except KafkaError as error:
            self.fail("offset fetches", error)
            return
        for name, committed in found.items():
            offset = -1 if committed is None else committed.offset
            number = int(name.partition)
            self.transactions.ensure_kept(group, number, offset, before=before[number])
            self.transactions.commit(group, number, offset)
            self.world.count("offsets fetched")
