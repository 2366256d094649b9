"""Changes of in-sync replicas on their way to the controller (Kafka: `AlterPartitionManager`).

    submit          a leader's proposal; at most one per partition
    next_request    all proposals without an answer, as one request; at most one is in flight
    complete        the answers of a response, per partition
    fail            the connection is lost, or the time is over: the outcome is unknown

A proposal is sent until it has an answer. To send it twice is safe: the controller applies it only
at its partition epoch, and returns the state that it already has as a success. An answer for the
whole request concerns no partition, and the request is sent again. Every error is followed by a
pause, so that a proposal that is repeated at once does not load the controller.

    NOT_CONTROLLER        of the request or of a partition: find the controller first
    STALE_BROKER_EPOCH    the next request has the broker's new epoch

From version 3 on the controller rejects a proposal with a broker that has registered again since
its last fetch. Kafka 3.9's controller with ZooKeeper does not compare these epochs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal
from cordwood.core.errors import NotControllerError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionState,
    AlterPartitionTopic,
    BrokerState,
)

#: The pause after an error.
RETRY_MS: Final = 50
_SUCCESS: Final = 0
_FIRST_WITH_BROKER_EPOCHS: Final = 3


class SubmittedProposal(NamedTuple):
    """A proposal for one partition, whose topic has an id or the id of no topic."""

    partition: TopicPartition
    topic_id: Uuid
    proposal: IsrProposal


class ProposalAnswer(NamedTuple):
    """The controller's state of the partition, or an error code."""

    submitted: SubmittedProposal
    answer: AlteredIsr | int


class ProposalAnswers(NamedTuple):
    """The answers of one response, and whether its sender is not the controller."""

    answers: tuple[ProposalAnswer, ...]
    is_controller_stale: bool = False


class AlterPartitionManager:
    """The proposals of one broker. The caller sends the requests, one after the other."""

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._unanswered = dict[TopicPartition, SubmittedProposal]()
        self._in_flight: tuple[SubmittedProposal, ...] = ()
        self._not_before_ms = 0.0

    def __len__(self) -> int:
        return len(self._unanswered)

    def submit(self, submitted: SubmittedProposal) -> bool:
        """Add a proposal; return False if one of an earlier leadership has no answer yet.

        The leader handles that as OPERATION_NOT_ATTEMPTED, and proposes again later.
        """
        return self._unanswered.setdefault(submitted.partition, submitted) is submitted

    def next_request(
        self, *, broker_epoch: int, version: int, now_ms: float
    ) -> AlterPartitionRequest | None:
        """Return the next request, None while one is in flight, or nothing is to be sent now.

        Versions from 2 on identify topics by id; a topic without an id needs version 1.
        """
        if self._in_flight or not self._unanswered or now_ms < self._not_before_ms:
            return None
        self._in_flight = tuple(self._unanswered.values())
        return AlterPartitionRequest(
            broker_id=self._broker_id,
            broker_epoch=broker_epoch,
            topics=[*_topics(self._in_flight, version)],
        )

    def can_use_topic_ids(self) -> bool:
        """Return whether all topics of the next request have an id."""
        return all(each.topic_id != NO_UUID for each in self._unanswered.values())

    def retry_at_ms(self) -> float | None:
        """Return the time of the next request, None if there is nothing to send."""
        return self._not_before_ms if self._unanswered and not self._in_flight else None

    def complete(self, response: AlterPartitionResponse, *, now_ms: float) -> ProposalAnswers:
        """Return the answers of the response to the request in flight.

        A partition that the response leaves out stays among the proposals to send.
        """
        sent, self._in_flight = self._in_flight, ()
        states = {
            (topic.topic_id, topic.topic_name, state.partition_index): state
            for topic in response.topics
            for state in topic.partitions
        }
        answers, codes = list[ProposalAnswer](), {response.error_code}
        for each in sent if response.error_code == _SUCCESS else ():
            state = _state_of(each, states)
            if state is not None:
                codes.add(state.error_code)
                if state.error_code != NotControllerError.code:
                    del self._unanswered[each.partition]
                    answers.append(ProposalAnswer(each, _answer(state)))
        if codes != {_SUCCESS}:
            self._not_before_ms = now_ms + RETRY_MS
        return ProposalAnswers(tuple(answers), NotControllerError.code in codes)

    def fail(self, *, now_ms: float) -> None:
        """Send the request in flight again after a pause; it may have been applied."""
        self._in_flight = ()
        self._not_before_ms = now_ms + RETRY_MS


def _topics(sent: Iterable[SubmittedProposal], version: int) -> Iterator[AlterPartitionTopic]:
    by_topic = dict[tuple[TopicName, Uuid], list[AlterPartitionState]]()
    for each in sent:
        topic = by_topic.setdefault((each.partition.topic, each.topic_id), [])
        topic.append(_sent_state(each.partition.partition, each.proposal, version))
    for (name, topic_id), partitions in by_topic.items():
        yield AlterPartitionTopic(topic_name=name, topic_id=topic_id, partitions=partitions)


def _sent_state(partition: PartitionId, proposal: IsrProposal, version: int) -> AlterPartitionState:
    has_epochs = version >= _FIRST_WITH_BROKER_EPOCHS
    isr = [*proposal.new_isr]
    return AlterPartitionState(
        partition_index=partition,
        leader_epoch=proposal.leader_epoch,
        new_isr=[] if has_epochs else isr,
        new_isr_with_epochs=_broker_states(proposal) if has_epochs else [],
        partition_epoch=proposal.partition_epoch,
    )


def _broker_states(proposal: IsrProposal) -> list[BrokerState]:
    states = zip(proposal.new_isr, proposal.broker_epochs, strict=True)
    return [BrokerState(broker_id=broker, broker_epoch=epoch) for broker, epoch in states]


def _state_of(
    submitted: SubmittedProposal, states: Mapping[tuple[Uuid, str, int], AlteredPartitionState]
) -> AlteredPartitionState | None:
    """Return the state of a partition, by topic id or by name, as the version has it."""
    topic, partition = submitted.partition
    by_name = states.get((NO_UUID, topic, partition))
    return by_name or states.get((submitted.topic_id, "", partition))


def _answer(state: AlteredPartitionState) -> AlteredIsr | int:
    if state.error_code != _SUCCESS:
        return state.error_code
    return AlteredIsr(state.leader_epoch, state.partition_epoch, tuple(state.isr))
