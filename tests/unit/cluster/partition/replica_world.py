"""Replicas, leaders and a controller, which a history of actions drives in any order.

The controller is a model of Kafka 3.9's: it elects from the in-sync replicas that are alive, takes
brokers that it has lost out of them, and compares both epochs of a proposal. Brokers receive its
states late, or after others. Responses are lost, or late. A broker that the controller has lost may
still run, and lead. A broker that crashes keeps its log, or loses the end of it if another in-sync
replica lives; the high watermark that it restarts with may be an old one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal
from cordwood.cluster.partition.leader import (
    AssignedReplicas,
    LagCheck,
    Leader,
    ProposalOutcome,
)
from cordwood.cluster.partition.replica_fetcher import FetchedPartition, SentPartitions
from cordwood.core.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidUpdateVersionError,
    UnknownLeaderEpochError,
)
from cordwood.core.types import LeaderEpoch
from tests.unit.cluster.partition.memory_replicas import (
    ORDERS,
    Fetched,
    FollowerProcess,
    MemoryReplica,
    TruncationRule,
    answer_of,
    fetch_offset_of,
)

MAX_LAG_MS: Final = 30_000
TICK_MS: Final = 20_000
NO_LEADER: Final = -1


class PartitionStateModel(NamedTuple):
    """The state of the partition that the controller has stored."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int


@dataclass(slots=True)
class Broker:
    """A broker: its log, and what it does at this moment."""

    log: MemoryReplica
    is_running: bool = True
    leader: Leader | None = None
    follower: FollowerProcess | None = None
    followed: int = NO_LEADER
    epoch: int = -1
    broker_epoch: int = -1
    #: A request with its response on the way.
    response: tuple[SentPartitions, Fetched] | None = None
    #: The proposal that has no answer, and the answer if the controller has given it.
    proposal: IsrProposal | None = None
    answer: AlteredIsr | int | None = None


class ControllerModel:
    """The stored state of the partition, and the brokers that the controller regards as alive."""

    def __init__(self, size: int, counts: Counter[str], *, checks_broker_epochs: bool) -> None:
        replicas = tuple(range(size))
        self.state = PartitionStateModel(0, 0, replicas, 0)
        #: The broker epochs of the brokers that are alive.
        self.registered = {each: each for each in replicas}
        self._registrations = size
        self._counts = counts
        self._checks_broker_epochs = checks_broker_epochs

    def register(self, node: int) -> int:
        """Register a broker, and return its new broker epoch."""
        self._registrations += 1
        self.registered[node] = self._registrations
        self._elect()
        return self._registrations

    def expire(self, node: int) -> None:
        """Take a broker out of the in-sync replicas, and elect if it led."""
        if node in self.registered:
            del self.registered[node]
            self._counts["expired"] += 1
            self._elect()

    def move(self, node: int) -> None:
        """Move the leadership to an in-sync replica that is alive."""
        if node in self.state.isr and node in self.registered and node != self.state.leader:
            self._store(node, self.state.isr)

    def decide(self, node: int, proposal: IsrProposal) -> AlteredIsr | int:
        """Return the answer to a proposal of a broker."""
        state = self.state
        if proposal.leader_epoch != state.leader_epoch or state.leader != node:
            return FencedLeaderEpochError.code
        if {*proposal.new_isr} == {*state.isr}:
            return AlteredIsr(state.leader_epoch, state.partition_epoch, state.isr)
        if proposal.partition_epoch != state.partition_epoch:
            return InvalidUpdateVersionError.code
        if not all(map(self._is_eligible, proposal.new_isr, proposal.broker_epochs)):
            return IneligibleReplicaError.code
        is_expansion = len(proposal.new_isr) > len(state.isr)
        self._counts["expansions" if is_expansion else "shrinks"] += 1
        self.state = state._replace(isr=proposal.new_isr, partition_epoch=state.partition_epoch + 1)
        return AlteredIsr(state.leader_epoch, state.partition_epoch + 1, proposal.new_isr)

    def _is_eligible(self, node: int, broker_epoch: int) -> bool:
        known = self.registered.get(node)
        return known is not None and (broker_epoch in {-1, known} or not self._checks_broker_epochs)

    def _elect(self) -> None:
        state = self.state
        alive = tuple(each for each in state.isr if each in self.registered)
        if not alive:
            if state.leader != NO_LEADER:
                self._store(NO_LEADER, state.isr)
        elif state.leader not in alive or alive != state.isr:
            self._store(state.leader if state.leader in alive else alive[0], alive)

    def _store(self, leader: int, isr: tuple[int, ...]) -> None:
        epoch, partition_epoch = self.state.leader_epoch + 1, self.state.partition_epoch + 1
        self.state = PartitionStateModel(leader, epoch, isr, partition_epoch)


class ReplicaWorld:
    """A partition with replicas on brokers 0, 1, …"""

    def __init__(
        self,
        size: int,
        *,
        min_isr: int = 1,
        rule: TruncationRule = TruncationRule.ON_FETCH,
        new_leader: Callable[..., Leader] = Leader,
        checks_broker_epochs: bool = True,
    ) -> None:
        self.counts = Counter[str]()
        self.controller = ControllerModel(
            size, self.counts, checks_broker_epochs=checks_broker_epochs
        )
        self.brokers = [Broker(MemoryReplica(rule), broker_epoch=each) for each in range(size)]
        self._min_isr = min_isr
        self._rule = rule
        self._new_leader = new_leader
        self._now_ms = 0.0
        self._written = 0
        #: The values that were acknowledged for all replicas, by offset.
        self._acknowledged = dict[int, str]()
        #: The appends of each leader that wait.
        self._waiting = dict[int, list[tuple[int, str]]]()
        for each in range(size):
            self.deliver(each)

    def act(self, action: str, number: int) -> None:
        """Perform one action of a history, on a broker that the number chooses."""
        chosen: Sequence[int] = range(len(self.brokers))
        if action in _OF_LEADERS:
            chosen = [node for node in chosen if self.brokers[node].leader is not None] or chosen
        elif action in _OF_FOLLOWERS:
            chosen = [node for node in chosen if self.brokers[node].follower is not None] or chosen
        ACTIONS[action](self, chosen[number % len(chosen)], number // len(chosen))
        self._acknowledge()

    # -- the leaders

    def append(self, node: int, _: int) -> None:
        """Append a record on a broker that leads, or that has not been notified of a later one."""
        broker = self.brokers[node]
        leader = broker.leader
        if leader is None or leader.is_under_min_isr(self._min_isr):
            return
        self._written += 1
        value = f"r{self._written}"
        broker.log.append(value)
        self._waiting.setdefault(node, []).append((broker.log.log_end - 1, value))
        self._advance(node)

    def check_lag(self, node: int, _: int) -> None:
        """Propose to remove the followers that are behind."""
        broker = self.brokers[node]
        if broker.leader is not None:
            self._propose(broker, broker.leader.propose_shrink(self._check(broker)))

    def advance_clock(self, _: int, __: int) -> None:
        """Let time pass: two of these are longer than the maximum lag."""
        self._now_ms += TICK_MS

    def _advance(self, node: int) -> None:
        broker = self.brokers[node]
        leader, log = broker.leader, broker.log
        assert leader is not None
        leader.advance_own_end(log.log_end)
        end = leader.committed_end(self._min_isr, check=self._check(broker))
        log.high_watermark = max(log.high_watermark, -1 if end is None else end)

    def _acknowledge(self) -> None:
        for node, waiting in self._waiting.items():
            broker = self.brokers[node]
            for offset, value in [*waiting] if broker.leader else ():
                if broker.log.high_watermark <= offset:
                    continue
                waiting.remove((offset, value))
                assert broker.leader is not None
                if broker.leader.error_after_append(ORDERS, self._min_isr) is None:
                    self._acknowledged[offset] = value
                    self.counts["acknowledged"] += 1

    def _check(self, broker: Broker) -> LagCheck:
        return LagCheck(self._now_ms, broker.log.log_end, MAX_LAG_MS, self.controller.registered)

    # -- the followers

    def fetch(self, node: int, argument: int) -> None:
        """Send a request and receive its response; sometimes the response is late or lost."""
        self.send(node, argument)
        if argument % 4:
            self.receive(node, argument)

    def send(self, node: int, _: int) -> None:
        """Send the next request of a follower to the broker that it follows."""
        broker = self.brokers[node]
        if broker.follower is None:
            return
        sent = broker.follower.fetcher.next_request(now_ms=self._now_ms)
        if sent is None:
            return
        leader = self.brokers[broker.followed]
        if not leader.is_running:
            broker.follower.fetcher.on_disconnect(sent, now_ms=self._now_ms)
            return
        broker.response = (sent, self._serve(broker.followed, node, sent))

    def receive(self, node: int, _: int) -> None:
        """Receive the response that is on the way; it may be one of an earlier leader epoch."""
        broker = self.brokers[node]
        response, broker.response = broker.response, None
        if broker.follower is not None and response is not None:
            before = broker.log.log_end
            broker.follower.receive(*response)
            if broker.log.log_end < before:
                self.counts["truncations"] += 1

    def lose(self, node: int, _: int) -> None:
        """Lose the response that is on the way."""
        broker = self.brokers[node]
        response, broker.response = broker.response, None
        if broker.follower is not None and response is not None:
            broker.follower.fetcher.on_disconnect(response[0], now_ms=self._now_ms)

    def _serve(self, node: int, follower: int, sent: SentPartitions) -> Fetched:
        broker = self.brokers[node]
        wanted = sent.partitions[ORDERS].leader_epoch
        error = self._fence(broker, wanted)
        if error:
            self.counts["fenced"] += 1
            return Fetched(FetchedPartition(ORDERS, error, -1), [], 0)
        answer = answer_of(broker.log, sent, rule=self._rule)
        offset, leader = fetch_offset_of(sent), broker.leader
        replica = leader.replica(follower) if leader is not None else None
        fetched = answer.answer
        is_read = isinstance(fetched, FetchedPartition) and fetched.diverging_epoch is None
        if leader is None or replica is None or offset is None or fetched.error_code or not is_read:
            return answer
        replica.record_fetch(
            offset,
            leader_end=broker.log.log_end,
            now_ms=self._now_ms,
            broker_epoch=self.brokers[follower].broker_epoch,
        )
        proposal = leader.propose_expansion(
            follower, high_watermark=broker.log.high_watermark, eligible=self.controller.registered
        )
        self._propose(broker, proposal)
        self._advance(node)
        return answer

    def _fence(self, broker: Broker, wanted: int) -> int:
        if wanted < broker.epoch:
            return FencedLeaderEpochError.code
        if wanted > broker.epoch or broker.leader is None:
            return UnknownLeaderEpochError.code
        return 0

    # -- the controller

    def deliver(self, node: int, _: int = 0) -> None:
        """Send the state of the partition to a broker; the same one again, too."""
        broker, state = self.brokers[node], self.controller.state
        if (
            not broker.is_running
            or node not in self.controller.registered
            or state.leader == NO_LEADER
        ):
            return
        assigned = AssignedReplicas(
            tuple(range(len(self.brokers))), state.isr, state.partition_epoch
        )
        if state.leader_epoch > broker.epoch:
            self._begin(node, assigned)
        elif broker.leader is not None and state.leader_epoch == broker.epoch:
            broker.leader.update(assigned)
        if broker.leader is not None:
            self._advance(node)

    def _begin(self, node: int, assigned: AssignedReplicas) -> None:
        broker, state = self.brokers[node], self.controller.state
        broker.epoch, broker.proposal, broker.answer = state.leader_epoch, None, None
        self._waiting.pop(node, None)
        if state.leader != node:
            broker.leader, broker.followed = None, state.leader
            if broker.follower is None:
                broker.follower = FollowerProcess(broker.log, state.leader_epoch)
            else:
                broker.follower.follow(state.leader_epoch)
            return
        broker.follower = broker.response = None
        broker.leader = self._new_leader(
            node,
            LeaderEpoch(state.leader_epoch),
            assigned=assigned,
            epoch_start=broker.log.log_end,
            now_ms=self._now_ms,
        )
        broker.log.lead(state.leader_epoch)
        self.counts["elections"] += 1

    def decide(self, node: int, _: int) -> None:
        """Decide on the proposal of a broker; the answer is on its way then."""
        broker = self.brokers[node]
        if broker.proposal is not None and broker.is_running:
            broker.answer = self.controller.decide(node, broker.proposal)

    def answer(self, node: int, argument: int) -> None:
        """Receive the answer to a proposal; sometimes it is lost, and the proposal sent again."""
        broker = self.brokers[node]
        answer, broker.answer = broker.answer, None
        if broker.leader is None or broker.proposal is None or answer is None or argument % 3 == 0:
            return
        outcome = broker.leader.complete(broker.proposal, answer)
        self.counts[outcome.value] += 1
        if outcome is not ProposalOutcome.RETRY:
            broker.proposal = None
        self._advance(node)

    def _propose(self, broker: Broker, proposal: IsrProposal | None) -> None:
        if proposal is not None:
            broker.proposal, broker.answer = proposal, None

    def expire(self, node: int, _: int = 0) -> None:
        """Lose the session of a broker, which may still run."""
        self.controller.expire(node)

    def register(self, node: int, _: int = 0) -> None:
        """Register a running broker again; a partition without a leader may get it."""
        broker = self.brokers[node]
        if broker.is_running and node not in self.controller.registered:
            broker.broker_epoch = self.controller.register(node)
            self.deliver(node)

    def move(self, node: int, _: int) -> None:
        """Move the leadership to an in-sync replica that is alive."""
        self.controller.move(node)

    # -- crashes

    def crash(self, node: int, argument: int) -> None:
        """Kill a broker; with a lost end of its log if another in-sync replica lives."""
        broker = self.brokers[node]
        if not broker.is_running:
            return
        self.counts["crashes"] += 1
        broker.is_running = False
        broker.leader = broker.follower = broker.response = broker.proposal = broker.answer = None
        broker.epoch = -1
        self._waiting.pop(node, None)
        broker.log.high_watermark = max(0, broker.log.high_watermark - argument % 3)
        others = (
            each
            for each in self.controller.state.isr
            if each != node and each in self.controller.registered
        )
        if argument % 2 and any(self.brokers[each].is_running for each in others):
            self.expire(node)
            broker.log.truncate(max(0, broker.log.log_end - argument % 5))
            self.counts["lost ends"] += 1

    def restart(self, node: int, _: int) -> None:
        """Start a broker that has crashed; the controller has lost it before it registers."""
        broker = self.brokers[node]
        if not broker.is_running:
            self.expire(node)
            broker.is_running = True
            self.register(node)

    # -- invariants

    def check(self) -> None:
        """Raise AssertionError if a record is lost, or logs differ below both high watermarks."""
        for each in self.controller.state.isr:
            records = self.brokers[each].log.records
            for offset, value in self._acknowledged.items():
                is_there = offset < len(records) and records[offset].value == value
                assert is_there, f"{value} is not at {offset} on the in-sync replica {each}"
        logs = [each.log for each in self.brokers]
        for log in logs:
            for other in logs:
                end = min(log.high_watermark, other.high_watermark)
                assert log.records[:end] == other.records[:end], f"{log} and {other} differ"


Action = Callable[[ReplicaWorld, int, int], None]
ACTIONS: Final[Mapping[str, Action]] = {
    "append": ReplicaWorld.append,
    "fetch": ReplicaWorld.fetch,
    "send": ReplicaWorld.send,
    "receive": ReplicaWorld.receive,
    "lose": ReplicaWorld.lose,
    "check_lag": ReplicaWorld.check_lag,
    "advance_clock": ReplicaWorld.advance_clock,
    "deliver": ReplicaWorld.deliver,
    "decide": ReplicaWorld.decide,
    "answer": ReplicaWorld.answer,
    "expire": ReplicaWorld.expire,
    "register": ReplicaWorld.register,
    "move": ReplicaWorld.move,
    "crash": ReplicaWorld.crash,
    "restart": ReplicaWorld.restart,
}
_OF_LEADERS: Final = frozenset({"append", "check_lag", "decide", "answer"})
_OF_FOLLOWERS: Final = frozenset({"fetch", "send", "receive", "lose"})
#: The actions with their frequencies.
FREQUENT: Final[Sequence[str]] = (
    *ACTIONS,
    *("append", "deliver", "decide", "answer") * 4,
    *("fetch",) * 14,
    *("check_lag", "restart", "register", "advance_clock") * 2,
)
