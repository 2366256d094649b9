"""Broker of a simulation: the real coordinators, with their runtimes, over simulated partitions.

    request ──► runtime of groups, or of transactions ──► shard ──► log in memory
    Produce ──► verification with the coordinator     ──► data partition

A crash loses the runtimes with all that waits in them. A start loads the logs in the next leader
epoch. A move ends the leadership of one coordinator and begins it again, without a loss. Some
events are long ones: they are decided at once, and their outcomes come later.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from cordwood.broker.coordinators.add_partitions_to_txn_manager import (
    PartitionErrors,
    add_here,
)
from cordwood.broker.coordinators.transaction_verifier import (
    ProducerTransaction,
    TransactionalBatch,
    TransactionVerifier,
)
from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.outcome import Outcome, Ticket, TransactionalProducer
from cordwood.coordination.ports import InternalLog, TransactionMarker
from cordwood.coordination.runtime.completion_waits import CompletionWaits
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.group_runtime import GroupRuntime
from cordwood.coordination.runtime.pending_result import result_of
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.coordination.runtime.transaction_runtime import TransactionRuntime
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_shard import OFFSETS_TOPIC, TransactionShard
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
)
from cordwood.core.ports import Pending
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
)
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.internal import GROUP_RECORDS, TRANSACTION_RECORDS
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cordwood.protocol.schema import Request, Response
from cordwood.records.batch_header import read_header
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendContext
from cordwood.testing.seeded_random import SeededRandom
from tests.simulation.counted_shards import CountedGroupShard, CountedTransactionShard
from tests.simulation.late_worker import LateWorker
from tests.simulation.led_log import LedLog
from tests.simulation.simulated_log import SimulatedLog
from tests.simulation.world import World

if TYPE_CHECKING:
    import asyncio

    from cordwood.broker.config.broker_configs import BrokerConfigs
    from cordwood.broker.coordinators.add_partitions_to_txn_manager import (
        AddPartitionsToTxnManager,
    )
    from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
    from cordwood.broker.coordinators.topic_coordinator import TopicCoordinator
    from cordwood.broker.partitions.partition import Partition

S = TypeVar("S", bound=CoordinatorShard)

INPUT: Final = TopicName("in")
OUTPUT: Final = TopicName("out")
OUTPUTS: Final = tuple(TopicPartition(OUTPUT, PartitionId(each)) for each in range(2))
OFFSETS: Final = TopicPartition(OFFSETS_TOPIC, PartitionId(0))
INPUT_ID: Final = Uuid(bytes(15) + b"\x01")
_OUTPUT_ID: Final = Uuid(bytes(15) + b"\x02")
_MARKER_FAILS: Final = 0.1
_LONGEST_MARKER_MS: Final = 20.0
_LONG_EVENTS: Final = 0.1


class ProduceBatch(NamedTuple):
    """A Produce request with one batch of a transaction."""

    transactional_id: str
    partition: TopicPartition
    data: bytes


class Produced(NamedTuple):
    """The response of a Produce request without an error."""

    base_offset: int


class _Method(NamedTuple):
    """The method of a shard for a request, and the class of its response."""

    call: Callable[..., Outcome]
    answer: type[Response]


_GROUP_METHODS: Final[Mapping[type[Request], _Method]] = {
    JoinGroupRequest: _Method(GroupShard.join_group, JoinGroupResponse),
    SyncGroupRequest: _Method(GroupShard.sync_group, SyncGroupResponse),
    HeartbeatRequest: _Method(GroupShard.heartbeat, HeartbeatResponse),
    LeaveGroupRequest: _Method(GroupShard.leave_group, LeaveGroupResponse),
    ConsumerGroupHeartbeatRequest: _Method(
        GroupShard.consumer_group_heartbeat, ConsumerGroupHeartbeatResponse
    ),
    OffsetCommitRequest: _Method(GroupShard.offset_commit, OffsetCommitResponse),
    OffsetFetchRequest: _Method(GroupShard.offset_fetch, OffsetFetchResponse),
}
_TXN_OFFSET_COMMIT: Final = _Method(GroupShard.txn_offset_commit, TxnOffsetCommitResponse)
_TRANSACTION_METHODS: Final[Mapping[type[Request], _Method]] = {
    InitProducerIdRequest: _Method(TransactionShard.init_producer_id, InitProducerIdResponse),
    AddPartitionsToTxnRequest: _Method(TransactionShard.add_partitions, AddPartitionsToTxnResponse),
    AddOffsetsToTxnRequest: _Method(
        partial(TransactionShard.add_offsets, offsets_partitions=1), AddOffsetsToTxnResponse
    ),
    EndTxnRequest: _Method(TransactionShard.end_transaction, EndTxnResponse),
}


class _AllKeys:
    """The coordinator of all keys: the internal topics have one partition (`TopicCoordinator`)."""

    def __init__(self, runtime: CoordinatorRuntime[TransactionShard]) -> None:
        self._runtime = runtime

    async def call(
        self,
        _: str,
        method: Callable[[TransactionShard, Ticket, int], Outcome],
        *,
        answer: type[Response],
    ) -> Response:
        return await self._runtime.call(0, method, answer=answer)

    async def add(self, transaction: AddPartitionsToTxnTransaction) -> PartitionErrors:
        """Add as `AddPartitionsToTxnManager`."""
        return await add_here(cast("TopicCoordinator[TransactionShard]", self), transaction)


class _Configs:
    """The settings of a verifier (`BrokerConfigs`)."""

    def integer(self, name: str) -> int:
        return {
            "add.partitions.to.txn.retry.backoff.ms": 20,
            "add.partitions.to.txn.retry.backoff.max.ms": 100,
        }[name]

    def boolean(self, _: str) -> bool:
        return True


class Incarnation:
    """The broker from one start to its crash."""

    def __init__(self, broker: "SimulatedBroker") -> None:
        world, ports = broker.world, _ports(broker.world)
        self.is_up = True
        self._broker = broker
        self.outputs = {
            name: LedLog(broker.logs[name], name, broker.next_epoch(), world) for name in OUTPUTS
        }
        self._led = dict[str, LedLog]()
        self.groups = GroupRuntime(
            ShardKind(OFFSETS_TOPIC, GROUP_RECORDS, broker.make_group_shard), ports
        )
        completions = CompletionWaits(ports)
        self.transactions = TransactionRuntime(
            ShardKind("__transaction_state", TRANSACTION_RECORDS, broker.make_transaction_shard),
            ports,
            markers=self,
            next_producer_id=broker.next_producer_id,
            completions=completions,
        )
        self.verifier = _verifier(self.transactions, ports, completions)
        self.groups.update_topics(broker.topics)
        self.lead_groups()
        self.lead_transactions()

    def lead_groups(self) -> None:
        """Coordinate groups in the next leader epoch."""
        self.groups.elect(self._lead("groups", self._broker.logs[OFFSETS], OFFSETS))

    def lead_transactions(self) -> None:
        """Coordinate transactions in the next leader epoch."""
        name = TopicPartition(TopicName("__transaction_state"), PartitionId(0))
        self.transactions.elect(self._lead("transactions", self._broker.transaction_log, name))

    def whole_group_shard(self) -> GroupShard | None:
        """Return the shard of the groups, None if there is none, or if a long event changes it."""
        context = self.groups._contexts.get(0)  # noqa: SLF001  only a check needs it
        active = None if context is None else context.active
        return None if active is None or active.long.is_paused else active.shard

    def resign(self, which: str) -> None:
        """Stop to coordinate groups, or transactions."""
        self._led[which].is_led = False
        runtime = self.groups if which == "groups" else self.transactions
        runtime.resign(0)

    def end(self) -> None:
        """Lose everything that is in memory."""
        self.is_up = False
        for log in (*self._led.values(), *self.outputs.values()):
            log.is_led = False
        self._broker.world.begin(self.groups.stop())
        self._broker.world.begin(self.transactions.stop())

    def _lead(self, which: str, log: SimulatedLog, name: TopicPartition) -> LedLog:
        led = LedLog(log, name, self._broker.next_epoch(), self._broker.world)
        self._led[which] = led
        return led

    # -- requests

    async def handle(
        self, request: Request | ProduceBatch, client: ClientContext
    ) -> Response | Produced:
        """Return the response of a request, or raise the KafkaError of its coordinator."""
        if isinstance(request, ProduceBatch):
            return await self._produce(request, client.api_version)
        kind = type(request)
        if isinstance(request, TxnOffsetCommitRequest):
            self.groups.ensure_active(0)
            producer = TransactionalProducer(request.producer_id, request.producer_epoch)
            log = self._led["groups"]
            guard = await self.verifier.verify_offsets(
                ProducerTransaction(request.transactional_id, producer),
                cast("CoordinatorLog", log),
                api_version=client.api_version,
            )

            def commit(*args: object, **kwargs: object) -> Outcome:
                log.guard = guard
                return _TXN_OFFSET_COMMIT.call(*args, **kwargs)

            return await self._call(
                self.groups, _TXN_OFFSET_COMMIT._replace(call=commit), request, client
            )
        if kind in _GROUP_METHODS:
            return await self._call(self.groups, _GROUP_METHODS[kind], request, client)
        return await self._call(self.transactions, _TRANSACTION_METHODS[kind], request, client)

    async def _call(
        self,
        runtime: CoordinatorRuntime[S],
        method: _Method,
        request: Request,
        client: ClientContext,
    ) -> Response:
        is_long = self._broker.draws_long_event()

        def event(shard: S, ticket: Ticket, now_ms: int) -> Outcome:
            run = partial(method.call, shard, request, client, ticket=ticket, now_ms=now_ms)
            return TransactionOutcome(rest=run) if is_long else run()

        return await runtime.call(0, event, answer=method.answer)

    async def _produce(self, request: ProduceBatch, version: int) -> Produced:
        led = self.outputs[request.partition]
        led.ensure_led()
        header = read_header(request.data)
        assert header is not None, "a whole batch"
        (verified,) = await self.verifier.verify_batches(
            request.transactional_id,
            [TransactionalBatch(cast("Partition", led), header)],
            api_version=version,
        )
        if isinstance(verified, KafkaError):
            raise verified
        led.ensure_led()
        context = AppendContext(AppendOrigin.CLIENT, verified)
        return Produced(await result_of(led.led_log.append(bytearray(request.data), context)))

    # -- markers (a `MarkerSender`)

    async def send(self, marker: TransactionMarker) -> Mapping[TopicPartition, KafkaError]:
        """Try each partition once, in a drawn order and at drawn times."""
        world, errors = self._broker.world, dict[TopicPartition, KafkaError]()
        names = sorted(marker.partitions)
        world.random.shuffle(names)
        for name in names:
            if world.is_faulty:
                await self._broker.pause(world.random.uniform(0, _LONGEST_MARKER_MS))
            try:
                if world.draws(_MARKER_FAILS):
                    world.count("markers rejected")
                    raise NotLeaderOrFollowerError(f"{name} has another leader")
                await result_of(self._write(name, marker))
            except KafkaError as error:
                errors[name] = error.with_traceback(None)
            else:
                world.count("markers of commits" if marker.is_commit else "markers of aborts")
        return errors

    def _write(self, name: TopicPartition, marker: TransactionMarker) -> Pending[int]:
        self._broker.world.note("marker in {}: {}", name, marker)
        if name != OFFSETS:
            return self.outputs[name].append_marker(marker)
        try:
            return self.groups.end_transaction(0, marker)
        except (CoordinatorLoadInProgressError, NotCoordinatorError) as error:
            raise NotLeaderOrFollowerError(str(error)) from None


def _ports(world: World) -> RuntimePorts:
    return RuntimePorts(
        clock=world.clock,
        scheduler=world.clock,
        worker=LateWorker(world),
        network_clock=world.clock,
        network_scheduler=world.clock,
        next_turn=_no_turn,
        call_soon=world.loop.call_soon,
    )


def _verifier(
    transactions: CoordinatorRuntime[TransactionShard],
    ports: RuntimePorts,
    completions: CompletionWaits,
) -> TransactionVerifier:
    """Return a verifier, with the few methods that it calls: the rest needs a whole broker."""
    return TransactionVerifier(
        cast("AddPartitionsToTxnManager", _AllKeys(transactions)),
        cast("BrokerConfigs", _Configs()),
        ports,
        completions=completions,
    )


async def _no_turn() -> None:
    """Go on at once: a turn takes no virtual time."""


class SimulatedBroker:
    """The broker over all its incarnations: logs, topics and epochs stay."""

    def __init__(self, world: World, partitions: int) -> None:
        self.world: Final = world
        self.logs: Final = {name: SimulatedLog(str(name), world) for name in (OFFSETS, *OUTPUTS)}
        self.transaction_log: Final = SimulatedLog("transactions", world)
        self.topics = _topics(partitions, version=1)
        self.partitions = partitions
        self.incarnation: Incarnation | None = None
        #: Called when an incarnation ends.
        self.on_crash: Callable[[], object] = lambda: None
        self._random = SeededRandom(world.seed)
        self._long = Random(f"long events of {world.seed}")
        self._epoch = self._producer_id = 0

    @property
    def all_logs(self) -> tuple[SimulatedLog, ...]:
        """The logs of all partitions."""
        return (*self.logs.values(), self.transaction_log)

    def start(self) -> None:
        """Start, and load the coordinators."""
        self.world.note("broker: starts")
        self.incarnation = Incarnation(self)

    def crash(self) -> None:
        """Lose the memory, and parts of the logs that do not count."""
        if self.incarnation is None:
            return
        self.world.note("broker: crashes")
        self.world.count("crashes of the broker")
        incarnation, self.incarnation = self.incarnation, None
        incarnation.end()
        for log in self.all_logs:
            log.crash()
        self.on_crash()

    def move(self, which: str, away_ms: float) -> None:
        """Let a coordinator be elsewhere for a time."""
        incarnation = self.incarnation
        if incarnation is None:
            return
        self.world.note("broker: the coordinator of {} moves", which)
        self.world.count("moves of coordinators")
        incarnation.resign(which)

        def back() -> None:
            if incarnation.is_up:
                lead = incarnation.lead_groups
                (lead if which == "groups" else incarnation.lead_transactions)()

        self.world.after(away_ms, back)

    def add_partition(self) -> None:
        """Let the input have one more partition."""
        self.partitions += 1
        self.world.note("broker: the input has {} partitions", self.partitions)
        self.world.count("partitions added")
        self.topics = _topics(self.partitions, version=self.topics.version + 1)
        if self.incarnation is not None:
            self.incarnation.groups.update_topics(self.topics)

    def next_epoch(self) -> int:
        """Return the next leader epoch; one counter serves all partitions."""
        self._epoch += 1
        return self._epoch

    def draws_long_event(self) -> bool:
        """Return whether an event is a long one."""
        is_long = self.world.is_faulty and self._long.random() < _LONG_EVENTS
        if is_long:
            self.world.count("long events")
        return is_long

    async def next_producer_id(self) -> int:
        """Allocate a producer id; ids are durable before they are given."""
        if self.world.is_faulty:
            await self.pause(self.world.random.uniform(0, 5))
        self._producer_id += 1
        return self._producer_id

    async def pause(self, wait_ms: float) -> None:
        """Wait in virtual time."""
        passed: asyncio.Future[None] = self.world.loop.create_future()

        def end() -> None:
            if not passed.done():
                passed.set_result(None)

        self.world.after(wait_ms, end)
        await passed

    def make_group_shard(self, _: InternalLog) -> GroupShard:
        """Return an empty shard."""
        return CountedGroupShard(self.world, self._random)

    def make_transaction_shard(self, log: InternalLog) -> TransactionShard:
        """Return an empty shard."""
        return CountedTransactionShard(self.world, log.leader_epoch)


def _topics(partitions: int, *, version: int) -> Topics:
    facts = (TopicFacts(INPUT, INPUT_ID, partitions), TopicFacts(OUTPUT, _OUTPUT_ID, len(OUTPUTS)))
    return Topics(facts, version=version)
