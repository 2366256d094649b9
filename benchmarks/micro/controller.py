"""How long does a controller decide about a dead broker, and after its election?

    python -m benchmarks.micro.controller

Each partition has three replicas, so with three brokers every partition is affected. Reads and
writes of the store, and the encoding of requests, are left out. To compare two commits, run it on
both in turns: the figures are processor time, the least of several runs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import process_time
from typing import Final

from benchmarks.figure import Figure
from cordwood.cluster.controller.broker_changes import brokers_changed
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ControllerSettings,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import (
    Effect,
    Flow,
    LeadershipWrites,
    ReadBrokers,
    ReadDeletions,
    ReadLeaderships,
    ReadRequestedElections,
    ReadRequestedReassignments,
    ReadTopicNames,
    ReadTopics,
    StoredAssignment,
    WriteLeaderships,
)
from cordwood.cluster.controller.failover import fail_over
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid

SETTINGS: Final = ControllerSettings(controller_id=1)
REPLICAS: Final = 3
PARTITIONS_OF_A_TOPIC: Final = 100
RUNS: Final = 5


@dataclass
class Store:
    """The stored values; it answers reads, and accepts all writes."""

    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    topics: dict[str, StoredAssignment] = field(default_factory=dict)
    leaderships: dict[TopicPartition, Leadership] = field(default_factory=dict)

    def perform(self, effect: Effect[object]) -> object:
        answer = self._answers().get(type(effect))
        return None if answer is None else answer(effect)

    def _answers(self) -> Mapping[type, Callable[..., object]]:
        return {
            ReadBrokers: lambda _: [*self.brokers.values()],
            ReadTopicNames: lambda _: [*self.topics],
            ReadTopics: lambda _: self.topics,
            ReadLeaderships: lambda _: self.leaderships,
            ReadDeletions: lambda _: (),
            ReadRequestedReassignments: lambda _: {},
            ReadRequestedElections: lambda _: (),
            WriteLeaderships: lambda effect: LeadershipWrites(
                {
                    key: each._replace(partition_epoch=each.partition_epoch + 1)
                    for key, each in effect.leaderships.items()
                }
            ),
        }


def figures(size: int = 256 << 20) -> Iterator[Figure]:
    """Measure clusters of at most `size` / 1 KB partitions."""
    for partitions, brokers in ((1_000, 3), (10_000, 3), (10_000, 10)):
        store = _store(min(partitions, size >> 10), brokers)
        cluster = f"controller, {partitions:,} partitions on {brokers} brokers"
        died, elected = _measure(store)
        yield Figure(name=f"{cluster}, one dies", value=died * 1e3, unit="ms")
        yield Figure(name=f"{cluster}, elected", value=elected * 1e3, unit="ms")


def _measure(store: Store) -> tuple[float, float]:
    """Return the seconds for the death of a broker, and for the start of the controller."""
    died, elected = [], []
    for _ in range(RUNS):
        seconds, context = _decide(fail_over(SETTINGS, epoch=1), store)
        elected.append(seconds)
        dead = store.brokers.pop(1)
        assert isinstance(context, ClusterContext)
        died.append(_decide(brokers_changed(context), store)[0])
        store.brokers[1] = dead
    return min(died), min(elected)


def _decide(flow: Flow[object], store: Store) -> tuple[float, object]:
    """Run a flow; return the processor time between its effects, and its result."""
    seconds, result = 0.0, None
    while True:
        began = process_time()
        try:
            effect = flow.send(result)
        except StopIteration as stop:
            return seconds + process_time() - began, stop.value
        seconds += process_time() - began
        result = store.perform(effect)


def _store(partitions: int, brokers: int) -> Store:
    store = Store()
    for each in range(1, brokers + 1):
        endpoint = BrokerEndpoint("PLAINTEXT", f"host{each}", 9092)
        store.brokers[each] = LiveBroker(each, each, (endpoint,))
    for first in range(0, partitions, PARTITIONS_OF_A_TOPIC):
        topic = f"topic{first}"
        assignments = {
            number: ReplicaAssignment(
                tuple((first + number + at) % brokers + 1 for at in range(REPLICAS))
            )
            for number in range(min(PARTITIONS_OF_A_TOPIC, partitions - first))
        }
        store.topics[topic] = StoredAssignment(Uuid(first.to_bytes(16, "big")), assignments)
        for number, assignment in assignments.items():
            name = TopicPartition(TopicName(topic), PartitionId(number))
            leader = assignment.replicas[0]
            store.leaderships[name] = Leadership(leader, 0, assignment.replicas)
    return store


if __name__ == "__main__":
    for figure in figures():
        print(figure)
