"""Consumer of a simulation: our own client's state machine of a membership, and its user.

The user polls, takes the records of its partitions, and commits their offsets, with or without a
transaction. The input has a record at every offset. Between two polls the process may be paused or
die; a successor then continues with the same instance id and transactional id.
"""

from collections import deque
from collections.abc import Collection
from typing import Final, NamedTuple, TypeAlias

from cordwood.client.group.assignors.assignor import Assignor
from cordwood.client.group.classic_membership import ClassicMembership
from cordwood.client.group.consumer_membership import ConsumerMembership
from cordwood.client.group.consumer_protocol import decode_assignment
from cordwood.client.group.membership import (
    LoadTopics,
    MembershipEnded,
    MembershipError,
    Rebalance,
    RebalanceKind,
    ResolveTopicIds,
    SendRequest,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.offset_messages import commit_topics
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.core.errors import KafkaError, error_for_code
from cordwood.core.types import PartitionId, TopicPartition
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request, Response
from cordwood.testing.seeded_random import SeededRandom
from tests.simulation.client_process import REQUEST_TIMEOUT_MS, ClientProcess, error_code
from tests.simulation.network import Answered, Channel, Network, OnAnswered
from tests.simulation.offset_ledger import OffsetLedger
from tests.simulation.ownership import Owner, Ownership
from tests.simulation.simulated_broker import INPUT, INPUT_ID, OUTPUTS, SimulatedBroker
from tests.simulation.transactional_client import TransactionalClient
from tests.simulation.world import World

GROUP: Final = "g"
_MAX_POLL_INTERVAL_MS: Final = 4_000
_COMMITS: Final = 0.7
_ABORTS: Final = 0.1
_VERSIONS: Final = {
    JoinGroupRequest: 9,
    SyncGroupRequest: 5,
    HeartbeatRequest: 4,
    LeaveGroupRequest: 5,
    ConsumerGroupHeartbeatRequest: 1,
}

AnyMembership: TypeAlias = ClassicMembership | ConsumerMembership


class MemberPlan(NamedTuple):
    """The fixed facts of a member over its incarnations; without assignors it is of KIP-848."""

    name: str
    assignors: tuple[Assignor, ...]
    instance_id: str | None
    transactional_id: str | None
    transaction_version: int


class Ledgers(NamedTuple):
    """The ledgers that a member writes into."""

    offsets: OffsetLedger
    ownership: Ownership


class GroupClient(ClientProcess):
    """One incarnation of a member."""

    def __init__(
        self,
        name: str,
        plan: MemberPlan,
        network: Network,
        *,
        broker: SimulatedBroker,
        ledgers: Ledgers,
    ) -> None:
        super().__init__(name, broker.world, network)
        self.plan: Final = plan
        self.producer: TransactionalClient | None = None
        self.is_leaving = False
        self.positions = dict[TopicPartition, int]()
        self._broker = broker
        self._ledgers = ledgers
        self.membership = _membership_of(name, plan, self.world)
        # The acknowledgement of a revocation in a late heartbeat would be taken for a new one.
        self._group = Channel(name, is_ordered=not plan.assignors)
        self._commits = Channel(name, is_ordered=False)
        self._due = deque[Rebalance]()
        self._alarm_ms = -1.0

    @property
    def is_settled(self) -> bool:
        """Whether the member has the assignment of its generation."""
        return self.membership.state.value == "stable" and not self._due

    @property
    def owner(self) -> Owner:
        """The member, as it sees itself."""
        identity = self.membership.identity
        return Owner(self.name, identity.member_id, identity.epoch, self.membership.owned)

    # -- the user

    async def run(self) -> None:
        """Subscribe, and poll until the process ends."""
        if self.producer is not None:
            await self.producer.initialize()
        self.membership.subscribe(TopicSubscription(frozenset({INPUT})), self.world.now_ms)
        while True:
            await self._poll()
            if self.producer is not None and self.producer.is_fatal:
                self.note("is fenced")
                self.die()
            if self.is_leaving and not self.membership.is_ending:
                self._leave()
            await self.sleep(self.world.random.uniform(200, 900))

    async def _poll(self) -> None:
        membership = self.membership
        membership.on_poll(self.world.now_ms)
        self._perform()
        while self._due:
            await self._rebalance(self._due[0])
        if not membership.is_ending and membership.owned:
            missing = [each for each in sorted(membership.owned) if each not in self.positions]
            if missing:
                await self._fetch_positions(missing)
            if self.is_working:
                await self._work()
        membership.on_poll_end(self.world.now_ms)
        self._perform()

    async def _rebalance(self, rebalance: Rebalance) -> None:
        """Run the callbacks of a rebalance: commit what is revoked, forget what is lost."""
        given_up = [each for each in sorted(rebalance.partitions) if each in self.positions]
        if rebalance.kind is not RebalanceKind.ASSIGNED:
            if given_up and rebalance.kind is RebalanceKind.REVOKED and self.producer is None:
                await self._commit(given_up)
            for each in rebalance.partitions:
                self.positions.pop(each, None)
        self.note("{} {}", rebalance.kind.value, sorted(rebalance.partitions))
        self.world.count(f"partitions {rebalance.kind.value}")
        self._due.popleft()
        self.membership.on_rebalanced(self.world.now_ms)
        self._perform()

    async def _work(self) -> None:
        """Take some records of each partition, and commit."""
        random = self.world.random
        ready = [each for each in sorted(self.membership.owned) if each in self.positions]
        taken = {each: random.randint(1, 3) for each in ready if random.random() < 0.7}
        if not taken:
            return
        if self.producer is not None:
            await self._transact(self.producer, taken)
            return
        for each, count in taken.items():
            self.positions[each] += count
        if random.random() < _COMMITS:
            if random.random() < 0.5:
                await self._commit(ready)
            else:
                self.begin(self._commit(ready))

    async def _transact(
        self, producer: TransactionalClient, taken: dict[TopicPartition, int]
    ) -> None:
        """Consume, transform and produce in a transaction."""
        identity = self.membership.identity
        if identity.epoch < 0:
            return
        contents: dict[TopicPartition, list[str]] = {}
        for each, count in taken.items():
            for offset in range(self.positions[each], self.positions[each] + count):
                output = OUTPUTS[(offset + each.partition) % len(OUTPUTS)]
                contents.setdefault(output, []).append(f"{each.partition}:{offset}")
        offsets = {each: self.positions[each] + count for each, count in taken.items()}
        is_committed = await producer.transact(
            contents,
            offsets=offsets,
            group=GroupMetadata(GROUP, identity.epoch, identity.member_id, self.plan.instance_id),
            is_commit=self.world.random.random() >= _ABORTS,
        )
        for each, offset in offsets.items():
            if each in self.positions:
                if is_committed:
                    self.positions[each] = offset
                else:
                    del self.positions[each]

    def _leave(self) -> None:
        self.note("leaves")
        self.world.count("leaves")
        self.membership.leave(self.world.now_ms, is_leaving_group=None)
        self._perform()

    # -- offsets

    async def _commit(self, partitions: Collection[TopicPartition]) -> None:
        identity = self.membership.identity
        if identity.epoch < 0:
            return
        offsets = {each: self.positions[each] for each in partitions if each in self.positions}
        wanted = {each: GroupOffset(offset) for each, offset in offsets.items()}
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=identity.epoch,
            member_id=identity.member_id,
            group_instance_id=self.plan.instance_id,
            topics=commit_topics(wanted),
        )

        def served() -> OnAnswered:
            answer = self._ledgers.offsets.deliver(self.name, offsets, None)

            def answered(response: Answered | None) -> None:
                results = dict[int, bool | None]()
                if isinstance(response, OffsetCommitResponse):
                    (topic,) = response.topics
                    results = {
                        each.partition_index: not each.error_code for each in topic.partitions
                    }
                for each in offsets:
                    answer(each, results.get(each.partition))

            return answered

        await self.call(self._commits, request, 9, on_served=served)

    async def _fetch_positions(self, partitions: list[TopicPartition]) -> None:
        """Begin at the committed offsets, or at 0; without an answer the next poll asks again."""
        identity = self.membership.identity
        group = OffsetFetchRequestGroup(
            group_id=GROUP,
            member_id=identity.member_id or None,
            member_epoch=identity.epoch,
            topics=[
                OffsetFetchRequestTopic(
                    name=INPUT, partition_indexes=[each.partition for each in partitions]
                )
            ],
        )
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        response = await self.call(self._commits, request, 9)
        if not isinstance(response, OffsetFetchResponse) or response.groups[0].error_code:
            return
        for found in response.groups[0].topics[0].partitions:
            partition = TopicPartition(INPUT, PartitionId(found.partition_index))
            if not found.error_code and partition in self.membership.owned:
                self.positions[partition] = max(found.committed_offset, 0)

    # -- the membership

    def _perform(self) -> None:
        for effect in self.membership.take_effects():
            match effect:
                case SendRequest(request, timeout_ms):
                    self.begin(self._send(request, timeout_ms or REQUEST_TIMEOUT_MS))
                case Rebalance():
                    self._due.append(effect)
                case LoadTopics():
                    self.after(1, self._load)
                case ResolveTopicIds():
                    self.after(1, self._resolve)
                case MembershipError(error, is_final):
                    self.note("has the error {!r}", error)
                    if is_final:
                        self.world.count("members fenced")
                        self.after(0, self.die)
                case MembershipEnded():
                    self.after(0, self.die)
        self._set_alarm()

    async def _send(self, request: Request, timeout_ms: float) -> None:
        version = _VERSIONS[type(request)]
        response = await self.call(self._group, request, version, timeout_ms=timeout_ms)
        now_ms, code = self.world.now_ms, error_code(response)
        self.note("{}: {}", type(request).__name__, code)
        if isinstance(response, KafkaError):
            self.membership.on_error(request, response, now_ms=now_ms)
        elif code:
            member_id = getattr(response, "member_id", "") or ""
            error = error_for_code(code)(f"{type(request).__name__} is rejected")
            self.membership.on_error(request, error, now_ms=now_ms, member_id=member_id)
        elif isinstance(response, Response):
            if isinstance(request, SyncGroupRequest) and isinstance(response, SyncGroupResponse):
                lineage = self.plan.instance_id or request.member_id
                assigned = decode_assignment(response.assignment)
                self._ledgers.ownership.assign(request.generation_id, lineage, assigned)
            self.membership.on_response(request, response, now_ms=now_ms)
        self._perform()

    def _load(self) -> None:
        self.membership.on_partition_counts({INPUT: self._broker.partitions}, self.world.now_ms)
        self._perform()

    def _resolve(self) -> None:
        self.membership.on_topic_names({INPUT_ID: INPUT}, self.world.now_ms)
        self._perform()

    def observe_metadata(self) -> None:
        """See the present number of partitions."""
        self.membership.on_metadata({INPUT: self._broker.partitions}, self.world.now_ms)
        self._perform()

    def _set_alarm(self) -> None:
        wake_ms = self.membership.wake_at_ms
        if wake_ms is None or wake_ms == self._alarm_ms:
            return
        self._alarm_ms = wake_ms
        self.at(wake_ms, lambda: self._wake(wake_ms))

    def _wake(self, alarm_ms: float) -> None:
        if alarm_ms != self._alarm_ms:
            return
        self._alarm_ms = -1.0
        self.membership.on_time(self.world.now_ms)
        self._perform()


def _membership_of(name: str, plan: MemberPlan, world: World) -> AnyMembership:
    config = MembershipConfig(
        group_id=GROUP,
        instance_id=plan.instance_id,
        session_timeout_ms=3_000,
        heartbeat_interval_ms=700,
        max_poll_interval_ms=_MAX_POLL_INTERVAL_MS,
        request_timeout_ms=int(REQUEST_TIMEOUT_MS),
        assignors=plan.assignors,
    )
    random = SeededRandom(world.random.getrandbits(32))
    backoff = ExponentialBackoff(60, 800, random=random)
    if plan.assignors:
        return ClassicMembership(config, backoff)
    return ConsumerMembership(config, backoff, member_id=f"{name}-{random.token(4).hex()}")
