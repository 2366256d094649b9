"""Tests of the proposals on their way to the controller."""

import pytest

from cordwood.cluster.partition.alter_partition_manager import (
    RETRY_MS,
    AlterPartitionManager,
    SubmittedProposal,
)
from cordwood.cluster.partition.in_sync_replicas import AlteredIsr, IsrProposal
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlteredPartitionTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
)

ORDERS_ID = Uuid(bytes(range(16)))
NOT_CONTROLLER = 41


def proposal(
    number: int = 0, *, isr: tuple[int, ...] = (1, 2), topic_id: Uuid = ORDERS_ID
) -> SubmittedProposal:
    partition = TopicPartition(TopicName("orders"), PartitionId(number))
    return SubmittedProposal(
        partition, topic_id, IsrProposal(4, 7, isr, tuple(60 + each for each in isr))
    )


def manager(*submitted: SubmittedProposal) -> AlterPartitionManager:
    made = AlterPartitionManager(1)
    for each in submitted:
        assert made.submit(each)
    return made


def request(
    of: AlterPartitionManager, *, version: int = 3, now_ms: float = 0
) -> AlterPartitionRequest:
    made = of.next_request(broker_epoch=60, version=version, now_ms=now_ms)
    assert made is not None
    return made


def response(
    *states: AlteredPartitionState, by_name: bool = False, error: int = 0
) -> AlterPartitionResponse:
    topic = AlteredPartitionTopic(
        topic_name="orders" if by_name else "",
        topic_id=NO_UUID if by_name else ORDERS_ID,
        partitions=[*states],
    )
    return AlterPartitionResponse(error_code=error, topics=[topic])


def state(
    number: int = 0, *, error: int = 0, isr: tuple[int, ...] = (1, 2)
) -> AlteredPartitionState:
    return AlteredPartitionState(
        partition_index=number,
        error_code=error,
        leader_id=1,
        leader_epoch=4,
        isr=[*isr],
        partition_epoch=8,
    )


def test_request_has_all_proposals_by_topic() -> None:
    bills = proposal()._replace(
        partition=TopicPartition(TopicName("bills"), PartitionId(0)), topic_id=NO_UUID
    )
    made = request(manager(proposal(0), bills, proposal(1)))

    assert (made.broker_id, made.broker_epoch) == (1, 60)
    assert [
        (topic.topic_name, topic.topic_id, [each.partition_index for each in topic.partitions])
        for topic in made.topics
    ] == [("orders", ORDERS_ID, [0, 1]), ("bills", NO_UUID, [0])]


@pytest.mark.parametrize(
    ("version", "isr", "with_epochs"),
    (
        (1, [1, 2], []),
        (2, [1, 2], []),
        (
            3,
            [],
            [BrokerState(broker_id=1, broker_epoch=61), BrokerState(broker_id=2, broker_epoch=62)],
        ),
    ),
)
def test_proposed_isr_has_the_fields_of_the_version(
    version: int, isr: list[int], with_epochs: list[BrokerState]
) -> None:
    (sent,) = request(manager(proposal()), version=version).topics[0].partitions

    assert (sent.leader_epoch, sent.partition_epoch, sent.leader_recovery_state) == (4, 7, 0)
    assert (sent.new_isr, sent.new_isr_with_epochs) == (isr, with_epochs)


def test_topic_without_an_id_needs_a_version_with_names() -> None:
    assert manager(proposal()).can_use_topic_ids()
    assert not manager(proposal(), proposal(1, topic_id=NO_UUID)).can_use_topic_ids()


def test_one_request_is_in_flight_at_a_time() -> None:
    proposals = manager(proposal())
    request(proposals)
    proposals.submit(proposal(1))

    assert proposals.next_request(broker_epoch=60, version=3, now_ms=0) is None
    assert proposals.retry_at_ms() is None


def test_nothing_is_sent_without_a_proposal() -> None:
    assert manager().next_request(broker_epoch=60, version=3, now_ms=0) is None
    assert manager().retry_at_ms() is None


def test_second_proposal_of_a_partition_is_not_attempted() -> None:
    proposals = manager(proposal())

    assert not proposals.submit(proposal(isr=(1,)))
    assert len(proposals) == 1


@pytest.mark.parametrize("by_name", (True, False))
def test_response_has_an_answer_per_partition(*, by_name: bool) -> None:
    proposals = manager(proposal(0), proposal(1))
    request(proposals)

    answers, is_stale = proposals.complete(
        response(state(0), state(1, error=95), by_name=by_name), now_ms=0
    )

    assert answers == ((proposal(0), AlteredIsr(4, 8, (1, 2))), (proposal(1), 95))
    assert (is_stale, len(proposals)) == (False, 0)


def test_answered_partition_may_propose_again_at_once() -> None:
    proposals = manager(proposal())
    request(proposals)
    proposals.complete(response(state()), now_ms=0)

    assert proposals.submit(proposal(isr=(1,)))
    assert request(proposals).topics[0].partitions[0].partition_epoch == 7


def test_partition_that_the_response_leaves_out_is_sent_again() -> None:
    proposals = manager(proposal(0), proposal(1))
    request(proposals)

    proposals.complete(response(state(1)), now_ms=0)

    assert [each.partition_index for each in request(proposals).topics[0].partitions] == [0]


@pytest.mark.parametrize(("error", "is_stale"), ((NOT_CONTROLLER, True), (77, False), (-1, False)))
def test_error_of_a_request_answers_no_proposal_and_is_followed_by_a_pause(
    error: int, *, is_stale: bool
) -> None:
    proposals = manager(proposal())
    request(proposals)

    assert proposals.complete(response(state(), error=error), now_ms=100) == ((), is_stale)
    assert proposals.retry_at_ms() == 100 + RETRY_MS
    assert proposals.next_request(broker_epoch=60, version=3, now_ms=99 + RETRY_MS) is None
    request(proposals, now_ms=100 + RETRY_MS)


def test_next_request_has_the_brokers_new_epoch() -> None:
    proposals = manager(proposal())
    request(proposals)
    proposals.complete(response(error=77), now_ms=0)

    again = proposals.next_request(broker_epoch=61, version=3, now_ms=RETRY_MS)

    assert again is not None
    assert again.broker_epoch == 61


def test_partition_whose_controller_is_outdated_is_sent_again() -> None:
    proposals = manager(proposal(0), proposal(1))
    request(proposals)

    answers, is_stale = proposals.complete(
        response(state(0, error=NOT_CONTROLLER), state(1)), now_ms=0
    )

    assert [each.submitted for each in answers] == [proposal(1)]
    assert (is_stale, len(proposals), proposals.retry_at_ms()) == (True, 1, RETRY_MS)


def test_error_of_a_partition_is_followed_by_a_pause_for_the_repeated_proposal() -> None:
    proposals = manager(proposal())
    request(proposals)
    proposals.complete(response(state(error=-1)), now_ms=0)

    proposals.submit(proposal())

    assert proposals.next_request(broker_epoch=60, version=3, now_ms=0) is None


def test_request_without_a_response_is_sent_again_after_a_pause() -> None:
    proposals = manager(proposal())
    first = request(proposals)

    proposals.fail(now_ms=100)

    assert proposals.next_request(broker_epoch=60, version=3, now_ms=100) is None
    again = request(proposals, now_ms=100 + RETRY_MS)
    assert again.topics[0].partitions[0].new_isr_with_epochs == (
        first.topics[0].partitions[0].new_isr_with_epochs
    )
