"""Effects of the controller's flows: values that a driver performs.

Kafka: calls of `KafkaZkClient` and `ControllerChannelManager` inside of `KafkaController`.

    flow ──► effect ──► driver ──► result ──► flow      until the flow returns
                           └─────► StaleControllerEpochError, thrown into the flow

A flow is a generator. It decides, yields an effect, and continues with the result, so its text is
the order of the protocol. Each write is guarded by the controller epoch: once another controller
has been elected the driver throws StaleControllerEpochError, and the flow ends. The context is then
outdated, and is discarded. A flow may end after any effect: the next controller's fail-over
continues from the stored values.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.schema import Request, Response

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Effect(Generic[T_co]):
    """An effect with a result of this type."""

    __slots__ = ()


Flow: TypeAlias = Generator[Effect[object], object, T]
"""A generator of effects that receives their results, and returns a value."""


def perform(effect: Effect[T]) -> Flow[T]:
    """Yield an effect, and return its result."""
    result = yield effect
    return cast("T", result)


class StoredAssignment(NamedTuple):
    """The stored facts of a topic; a topic of an older cluster has no id yet."""

    topic_id: Uuid | None
    partitions: Mapping[int, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class LeadershipWrites:
    """Results of writes: each partition is in one of the three."""

    written: Mapping[TopicPartition, Leadership] = field(default_factory=dict)
    #: The stored leadership has another partition epoch, or exists already.
    conflicts: Sequence[TopicPartition] = ()
    failed: Mapping[TopicPartition, KafkaError] = field(default_factory=dict)


class BrokerRequest(NamedTuple):
    """A request to a broker, in this version."""

    broker_id: int
    request: Request
    version: int


class FailedChange(NamedTuple):
    """A change of state that was not made; of a partition, the broker is None."""

    partition: TopicPartition
    broker_id: int | None
    to: str
    reason: str


# Leaderships


@dataclass(frozen=True, slots=True)
class ReadLeaderships(Effect[Mapping[TopicPartition, Leadership]]):
    """Read leaderships; partitions without a stored one are missing in the result."""

    partitions: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class CreateLeaderships(Effect[LeadershipWrites]):
    """Store the first leaderships of partitions; one that exists is a conflict."""

    leaderships: Mapping[TopicPartition, Leadership]


@dataclass(frozen=True, slots=True)
class WriteLeaderships(Effect[LeadershipWrites]):
    """Replace leaderships, each if its stored partition epoch is the one in the new value.

    The written ones are returned with their next partition epochs.
    """

    leaderships: Mapping[TopicPartition, Leadership]


# Brokers


@dataclass(frozen=True, slots=True)
class ReadBrokers(Effect[Sequence[LiveBroker]]):
    """Read the registered brokers, and report later changes of them as events."""


@dataclass(frozen=True, slots=True)
class ConnectBrokers(Effect[None]):
    """Open a queue of requests for each broker; requests to a broker keep their order."""

    brokers: Sequence[LiveBroker]


@dataclass(frozen=True, slots=True)
class DisconnectBrokers(Effect[None]):
    """Close the queues of brokers, with the requests that wait in them."""

    broker_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class SendRequests(Effect[None]):
    """Add requests to the queues of their brokers; responses arrive as events.

    A queue retries until the response arrives or the queue is closed.
    """

    requests: Sequence[BrokerRequest]


# Topics


@dataclass(frozen=True, slots=True)
class ReadTopicNames(Effect[Sequence[str]]):
    """Read the names of all topics, and report later changes as events."""


@dataclass(frozen=True, slots=True)
class ReadTopics(Effect[Mapping[str, StoredAssignment]]):
    """Read topics, and report later changes of them as events; missing ones are left out."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class AssignTopicIds(Effect[Mapping[str, Uuid]]):
    """Draw and store ids for topics without one."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class WriteAssignment(Effect[bool]):
    """Replace the assignments of all partitions of a topic; False if the topic does not exist."""

    topic: str
    partitions: Mapping[int, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class ReadUncleanElections(Effect[Mapping[str, bool]]):
    """Read whether topics allow a leader that is not in sync; unreadable ones are left out."""

    topics: Sequence[str]


# Deletions of topics


@dataclass(frozen=True, slots=True)
class ReadDeletions(Effect[Sequence[str]]):
    """Read the names of the topics whose deletion was requested, and report later requests."""


@dataclass(frozen=True, slots=True)
class DropDeletions(Effect[None]):
    """Remove requests for deletions."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class DeleteTopic(Effect[None]):
    """Remove a topic: its leaderships, then topic, configuration and request for its deletion.

    The latter three are removed at once. Otherwise the request could outlive the topic, and would
    delete the next topic of this name.
    """

    topic: str


# Requests that administrators leave in the store


@dataclass(frozen=True, slots=True)
class ReadRequestedReassignments(Effect[Mapping[TopicPartition, tuple[int, ...]]]):
    """Read the reassignments that were requested through the store, and report later ones."""


@dataclass(frozen=True, slots=True)
class WriteRequestedReassignments(Effect[None]):
    """Replace the requested reassignments; without any, remove the request."""

    reassignments: Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ReadRequestedElections(Effect[Sequence[TopicPartition]]):
    """Read the preferred elections that were requested through the store, and report later ones."""


@dataclass(frozen=True, slots=True)
class DropRequestedElections(Effect[None]):
    """Remove the requested preferred elections."""


@dataclass(frozen=True, slots=True)
class DropNotifications(Effect[None]):
    """Remove the notifications of brokers about in-sync replicas and log directories.

    A new controller reads everything, so they are of no use to it.
    """


# The rest


@dataclass(frozen=True, slots=True)
class ClaimProducerIds(Effect[range]):
    """Store that a broker has the next block of producer ids, and return it."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class Respond(Effect[None]):
    """Send the response of the request that began the flow."""

    response: Response | range | KafkaError


@dataclass(frozen=True, slots=True)
class ReportFailures(Effect[None]):
    """Log changes of state that were not made."""

    failures: Sequence[FailedChange]
