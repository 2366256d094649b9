"""A cluster whose brokers, topics, in-sync sets and controllers change in random steps.

The controller may end before any effect of its flows: it crashes, or another one is elected while
it still runs. Requests to brokers are delivered late, or lost with their controller. The store
checks each leadership that is written; `converged_cluster` has the rules of a cluster at rest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple, TypeVar

from cordwood.cluster.controller.broker_changes import log_directories_failed
from cordwood.cluster.controller.effects import WriteLeaderships
from cordwood.cluster.controller.requests.controlled_shutdown import shut_down_broker
from cordwood.cluster.controller.requests.elections import (
    elect_leaders,
    elect_requested_leaders,
    rebalance_leaders,
    unclean_elections_enabled,
)
from cordwood.cluster.controller.requests.in_sync_updates import (
    alter_partition,
    in_sync_sets_changed,
)
from cordwood.cluster.controller.requests.reassignment_requests import (
    alter_reassignments,
    start_requested_reassignments,
)
from cordwood.cluster.controller.topic_changes import partitions_changed, topics_changed
from cordwood.cluster.controller.topic_deletions import deletions_requested
from cordwood.core.errors import StaleControllerEpochError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionState,
    AlterPartitionTopic,
    BrokerState,
)
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.protocol.messages.elect_leaders import ElectLeadersRequest
from tests.properties.converged_cluster import check_converged
from tests.unit.cluster.controller.broker_model import HostedReplica
from tests.unit.cluster.controller.cluster_model import (
    ClusterModel,
    ControllerCrashedError,
    Event,
)

T = TypeVar("T")

BROKERS: Final = (1, 2, 3, 4, 5)
TOPICS: Final = ("orders", "payments")
UNCLEAN: Final = "payments"


class Step(NamedTuple):
    """A change, with a seed for its details; the controller ends after some effects.

    It crashes, or another one is elected while it still runs.
    """

    kind: str
    seed: int
    crash_after: int | None = None
    is_overtaken: bool = False


class Simulation:
    """The cluster, and the steps by name."""

    def __init__(self) -> None:
        self.model = ClusterModel()
        self.model.store.unclean = {UNCLEAN}
        self.random = Random(0)
        self.counts = Counter[str]()
        #: Partitions whose leaders have stored an in-sync set, and have not notified yet.
        self.notices: list[TopicPartition] = []
        self._is_race_due = False
        self.model.watch = self._before_effect

    def run(self, steps: Sequence[Step]) -> None:
        self.model.start(*BROKERS[:3])
        self.model.elect()
        for step in steps:
            self.random.seed(step.seed)
            self.counts[step.kind] += 1
            getattr(self, f"step_{step.kind}")()
            self._run_events(step)

    # Steps

    def step_start(self) -> None:
        self.model.start(self._pick(BROKERS))

    def step_stop(self) -> None:
        """A broker ends while requests with it are under way."""
        requests = self._alterations()
        self.model.stop(self._pick(BROKERS))
        self.model.events.extend(requests)

    def step_deliver(self) -> None:
        for each in self.random.sample(BROKERS, 3):
            self.model.deliver(each, self.random.randint(1, 6))

    def step_create(self) -> None:
        topic = self._pick(TOPICS)
        if topic not in self.model.store.topics:
            self.model.store.create(topic, *(self._replicas() for _ in range(2)))
            self.model.events.append(topics_changed)

    def step_grow(self) -> None:
        topic = self._pick(TOPICS)
        if topic in self.model.store.topics:
            self.model.store.grow(topic, self._replicas())
            self.model.events.append(lambda context: partitions_changed(context, topic))

    def step_delete(self) -> None:
        topic = self._pick(TOPICS)
        if topic in self.model.store.topics:
            self.model.store.deletions.add(topic)
            self.model.events.append(deletions_requested)

    def step_reassign(self) -> None:
        partitions = [*self.model.store.leaderships]
        if not partitions:
            return
        target = None if self.random.random() < 0.2 else [*self._replicas()]
        name = self._pick(partitions)
        request = reassignment(name, target)
        self.model.events.append(lambda context: alter_reassignments(context, request))

    def step_request_reassignment(self) -> None:
        partitions = [*self.model.store.leaderships]
        if partitions:
            self.model.store.reassignments[self._pick(partitions)] = self._replicas()
            self.model.events.append(start_requested_reassignments)

    def step_alter(self) -> None:
        """Leaders add live replicas to their in-sync sets, or remove some."""
        self.model.events.extend(self._alterations())

    def step_alter_in_store(self) -> None:
        """Leaders with an earlier protocol store their in-sync sets, and notify later."""
        self._alter_in_store(self._led())

    def step_race(self) -> None:
        """Such leaders have all requests, and store in-sync sets before the next write."""
        for each in self.model.brokers:
            self.model.deliver(each)
        self._is_race_due = True

    def step_notify(self) -> None:
        names, self.notices = self.notices, []
        self.model.events.append(lambda context: in_sync_sets_changed(context, names))

    def step_lose_directory(self) -> None:
        broker_id = self._pick([*self.model.brokers] or [1])
        broker = self.model.brokers.get(broker_id)
        if broker is not None and broker.replicas:
            broker.offline.add(self._pick([*broker.replicas]))
            self.model.events.append(lambda context: log_directories_failed(context, (broker_id,)))

    def step_mend_directory(self) -> None:
        for broker in self.model.brokers.values():
            if broker.offline:
                broker.offline.clear()
                self.model.start(broker.broker_id)
                return

    def step_shut_down(self) -> None:
        broker_id = self._pick(BROKERS)
        broker = self.model.brokers.get(broker_id)
        if broker is not None:
            request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker.epoch)
            self.model.events.append(lambda context: shut_down_broker(context, request))

    def step_fail_deletion(self) -> None:
        for broker in self.model.brokers.values():
            broker.undeletable.update(broker.replicas)

    def step_rebalance(self) -> None:
        self.model.events.append(rebalance_leaders)

    def step_enable_unclean(self) -> None:
        self.model.events.append(unclean_elections_enabled)

    def step_elect_preferred(self) -> None:
        request = ElectLeadersRequest(election_type=0, topic_partitions=None)
        self.model.events.append(lambda context: elect_leaders(context, request))

    def step_request_election(self) -> None:
        self.model.store.elections = [*self.model.store.leaderships]
        self.model.events.append(elect_requested_leaders)

    def step_replace_controller(self) -> None:
        self.model.elect()

    def step_deliver_late(self) -> None:
        for _ in range(4):
            self.model.deliver_late(self.random.randrange(100))

    # The end

    def settle(self) -> None:
        """Let the cluster come to rest, with directories that work and all brokers of deletions."""
        self._is_race_due = False
        for broker in [*self.model.brokers.values()]:
            broker.undeletable.clear()
            is_impaired = broker.has_failed_deletion or bool(broker.offline)
            if is_impaired or broker.broker_id in self._shutting_down():
                broker.offline.clear()
                self.model.start(broker.broker_id)
        self.step_notify()
        if self.model.context is None:
            self.model.elect()
        while self.model.late:
            self.model.deliver_late(self.random.randrange(100))
        self.model.settle()

    # Details of steps

    def _before_effect(self, effect: object) -> None:
        if self._is_race_due and isinstance(effect, WriteLeaderships):
            self._is_race_due = False
            self._alter_in_store(each for each in self._led() if each[1] in effect.leaderships)

    def _alter_in_store(self, led: Iterable[tuple[int, TopicPartition, HostedReplica]]) -> None:
        for broker_id, name, replica in led:
            stored = self.model.store.leaderships.get(name)
            if stored is None or stored.partition_epoch != replica.partition_epoch:
                continue
            isr = self._in_sync(broker_id, name, replica)
            if isr != stored.isr and stored.leader == broker_id:
                self.model.store.write_as_leader(name, isr)
                self.notices.append(name)

    def _pick(self, among: Sequence[T]) -> T:
        return self.random.choice(among)

    def _replicas(self) -> tuple[int, ...]:
        return (*self.random.sample(BROKERS, self.random.randint(1, 3)),)

    def _led(self) -> Iterator[tuple[int, TopicPartition, HostedReplica]]:
        for broker_id, broker in [*self.model.brokers.items()]:
            for name, replica in [*broker.replicas.items()]:
                if replica.leader == broker_id:
                    yield broker_id, name, replica

    def _in_sync(
        self, broker_id: int, name: TopicPartition, replica: HostedReplica
    ) -> tuple[int, ...]:
        """Return an in-sync set that a leader could have."""
        store = self.model.store
        found = store.topics.get(name.topic)
        assigned = found.partitions.get(name.partition) if found is not None else None
        others = [
            each
            for each in (assigned.replicas if assigned is not None else ())
            if each != broker_id and each in self.model.brokers and self.random.random() < 0.8
        ]
        if replica.is_recovering:
            others = []
        return (broker_id, *others)

    def _altered(self, broker_id: int, name: TopicPartition, replica: HostedReplica) -> Event:
        isr = self._in_sync(broker_id, name, replica)
        state = AlterPartitionState(
            partition_index=name.partition,
            leader_epoch=replica.leader_epoch,
            new_isr_with_epochs=[
                BrokerState(broker_id=each, broker_epoch=self.model.brokers[each].epoch)
                for each in isr
            ],
            partition_epoch=self._known_epoch(name, replica),
        )
        topic = AlterPartitionTopic(topic_id=replica.topic_id, partitions=[state])
        epoch = self.model.brokers[broker_id].epoch
        request = AlterPartitionRequest(broker_id=broker_id, broker_epoch=epoch, topics=[topic])
        return lambda context: alter_partition(context, request, version=3)

    def _known_epoch(self, name: TopicPartition, replica: HostedReplica) -> int:
        """Return the partition epoch after the leader's own updates, sometimes an earlier one."""
        stored = self.model.store.leaderships.get(name)
        if stored is None or stored.leader_epoch != replica.leader_epoch:
            return replica.partition_epoch
        return self._pick((stored.partition_epoch, replica.partition_epoch))

    def _alterations(self) -> list[Event]:
        led = [each for each in self._led() if self.random.random() < 0.7]
        return [self._altered(*each) for each in led]

    def _shutting_down(self) -> set[int]:
        context = self.model.context
        return set() if context is None else context.brokers.keys() - context.live

    def _run_events(self, step: Step) -> None:
        """Run the events; if the controller ends, elect the next one."""
        self.model.crash_after, self.model.is_overtaken = step.crash_after, step.is_overtaken
        try:
            self.model.run_events()
        except (ControllerCrashedError, StaleControllerEpochError) as error:
            self.counts[type(error).__name__] += 1
        self.model.crash_after = None
        context = self.model.context
        if context is None or context.epoch != self.model.store.controller_epoch:
            self.model.elect()


def reassignment(
    name: TopicPartition, target: list[int] | None
) -> AlterPartitionReassignmentsRequest:
    """Return the request to move a partition; None cancels."""
    partition = ReassignablePartition(partition_index=name.partition, replicas=target)
    return AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name.topic, partitions=[partition])]
    )


#: The kinds of steps.
KINDS: Final = sorted(
    name.removeprefix("step_") for name in vars(Simulation) if name.startswith("step_")
)
_FREQUENT: Final = ("alter", "create", "deliver", "race", "reassign", "start")


def seeded_steps(seed: int) -> list[Step]:
    """Return random steps."""
    random = Random(seed)
    kinds = [*KINDS, *_FREQUENT * 3]
    return [
        Step(
            random.choice(kinds),
            random.randrange(1 << 16),
            random.choice((None, None, None, random.randrange(12))),
            is_overtaken=random.random() < 0.5,
        )
        for _ in range(random.randrange(5, 50))
    ]


def run(steps: Sequence[Step]) -> Counter[str]:
    """Run steps, let the cluster come to rest, and check it; return the number of steps by kind."""
    simulation = Simulation()
    simulation.run(steps)
    simulation.settle()
    check_converged(simulation.model)
    return simulation.counts
