"""Requests that wait for a broker, merged by kind (Kafka: the queue of `RequestSendThread`).

A broker that never answers, and stays registered, would fill Kafka's queue without a bound.

    UpdateMetadata   a later one is merged into the one that waits, at its place
    LeaderAndIsr     the one that waits is merged into a later one, at the end, unless a StopReplica
                     request behind it concerns one of its partitions
    StopReplica      likewise, unless a LeaderAndIsr request does

So metadata never move behind a LeaderAndIsr request: a broker follows no leader whose address it
does not have. The last state of a partition counts. A replica that is new, or deleted, in one of
the merged requests is so in the result, as within one batch.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Final, NamedTuple, TypeAlias, TypeVar

from cordwood.cluster.controller.effects import BrokerRequest
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from cordwood.protocol.schema import Request

PartitionState: TypeAlias = (
    LeaderAndIsrPartitionState | UpdateMetadataPartitionState | StopReplicaPartitionState
)
S = TypeVar("S", bound=PartitionState)


class _Key(NamedTuple):
    """A partition of one topic; a topic that was created again has another id."""

    topic: str
    topic_id: Uuid
    number: int


class _MergedRequest:
    """Requests of one kind; their states are separate from the first merge on."""

    def __init__(self, request: BrokerRequest) -> None:
        #: The last request, whose fields other than the states count.
        self.last = request
        self._states: dict[_Key, PartitionState] | None = None
        #: Addresses in LeaderAndIsr requests, once the states are separate.
        self.leaders = dict[int, LeaderAndIsrLiveLeader]()

    @property
    def kind(self) -> type[Request]:
        return type(self.last.request)

    def names(self) -> set[tuple[str, int]]:
        """Return the partitions."""
        return {(each.topic, each.number) for each in self.states()}

    def merge(self, later: "_MergedRequest") -> None:
        """Take the states of a later request, and its other fields."""
        states = self.states()
        for key, state in later.states().items():
            states[key] = _merged_state(states.get(key), state)
        self.leaders.update(later.leaders)
        self.last = later.last

    def request(self) -> BrokerRequest:
        """Return the request."""
        if self._states is None:
            return self.last
        merged = _rebuilt(self.last.request, self._states, self.leaders)
        return self.last._replace(request=merged)

    def states(self) -> dict[_Key, PartitionState]:
        """Return the states, which a merge changes."""
        if self._states is None:
            request = self.last.request
            self._states = dict(_states(request))
            if isinstance(request, LeaderAndIsrRequest):
                self.leaders = {each.broker_id: each for each in request.live_leaders}
        return self._states


class WaitingRequests:
    """The requests in their order."""

    def __init__(self) -> None:
        self._waiting = list[_MergedRequest]()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: BrokerRequest) -> None:
        """Add a request, or merge it with the last one of its kind."""
        added = _MergedRequest(request)
        found = self._last_of(added.kind)
        if found is None:
            self._waiting.append(added)
            return
        waiting = self._waiting[found]
        if added.kind is UpdateMetadataRequest:
            waiting.merge(added)
        elif self._can_move(found):
            waiting.merge(added)
            self._waiting.append(self._waiting.pop(found))
        else:
            self._waiting.append(added)

    def take(self) -> BrokerRequest:
        """Remove the first request, and return it."""
        return self._waiting.pop(0).request()

    def _last_of(self, kind: type[Request]) -> int | None:
        places = range(len(self._waiting) - 1, -1, -1)
        return next((each for each in places if self._waiting[each].kind is kind), None)

    def _can_move(self, place: int) -> bool:
        """Return whether a request may move behind those that follow it."""
        behind = [each for each in self._waiting[place + 1 :] if each.kind in _ORDERED]
        return not behind or all(
            self._waiting[place].names().isdisjoint(each.names()) for each in behind
        )


_ORDERED: Final = frozenset({LeaderAndIsrRequest, StopReplicaRequest})


def _states(request: Request) -> Iterator[tuple[_Key, PartitionState]]:
    assert isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest)
    for topic in request.topic_states:
        topic_id: Uuid = getattr(topic, "topic_id", NO_UUID)
        for each in topic.partition_states:
            yield _Key(topic.topic_name, topic_id, each.partition_index), each


def _merged_state(earlier: PartitionState | None, later: PartitionState) -> PartitionState:
    """Return the later state; what is shared with other brokers' requests is copied first."""
    if isinstance(later, LeaderAndIsrPartitionState):
        if isinstance(earlier, LeaderAndIsrPartitionState) and earlier.is_new > later.is_new:
            later = copy(later)
            later.is_new = True
    elif isinstance(later, StopReplicaPartitionState):
        is_deleted = isinstance(earlier, StopReplicaPartitionState) and earlier.delete_partition
        if is_deleted > later.delete_partition:
            later = copy(later)
            later.delete_partition = True
    return later


def _rebuilt(
    request: Request,
    states: Mapping[_Key, PartitionState],
    leaders: Mapping[int, LeaderAndIsrLiveLeader],
) -> Request:
    """Return a request with other states."""
    rebuilt = copy(request)
    if isinstance(rebuilt, LeaderAndIsrRequest):
        rebuilt.topic_states = [
            LeaderAndIsrTopicState(topic_name=name, topic_id=topic_id, partition_states=found)
            for (name, topic_id), found in _topics(states, LeaderAndIsrPartitionState).items()
        ]
        rebuilt.live_leaders = [*leaders.values()]
    elif isinstance(rebuilt, UpdateMetadataRequest):
        rebuilt.topic_states = [
            UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=found)
            for (name, topic_id), found in _topics(states, UpdateMetadataPartitionState).items()
        ]
    elif isinstance(rebuilt, StopReplicaRequest):
        rebuilt.topic_states = [
            StopReplicaTopicState(topic_name=name, partition_states=found)
            for (name, _), found in _topics(states, StopReplicaPartitionState).items()
        ]
    return rebuilt


def _topics(
    states: Mapping[_Key, PartitionState], kind: type[S]
) -> dict[tuple[str, Uuid], list[S]]:
    """Return states by topic; those of a kind of request are of one class."""
    topics: dict[tuple[str, Uuid], list[S]] = {}
    for key, state in states.items():
        assert isinstance(state, kind), "a request has states of one class"
        topics.setdefault((key.topic, key.topic_id), []).append(state)
    return topics
