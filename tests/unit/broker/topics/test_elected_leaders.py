"""Tests of elected leaders, and of the images that have them."""

from dataclasses import replace

from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage, PartitionImage
from cordwood.broker.topics.elected_leaders import ElectedLeaders
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tests.unit.broker.image_samples import cluster, topic

PREFERRED, UNCLEAN = 0, 1
FAILED, TIMED_OUT = 84, 7


def response(*codes: int) -> ElectLeadersResponse:
    results = [
        PartitionResult(partition_id=number, error_code=code, error_message=None)
        for number, code in enumerate(codes)
    ]
    elected = ReplicaElectionResult(topic="orders", partition_result=results)
    return ElectLeadersResponse(replica_election_results=[elected])


def image(*leaders: int) -> ClusterImage:
    states = tuple(PartitionImage((1, 2), (1, 2), leader, 3) for leader in leaders)
    return cluster().with_topic(replace(topic("orders"), partitions=states))


def codes(found: ElectLeadersResponse) -> list[int]:
    return [each.error_code for each in found.replica_election_results[0].partition_result]


def test_preferred_leaders_are_the_first_replicas() -> None:
    elected = ElectedLeaders(response(0, 0), PREFERRED)

    assert not elected.are_known(image(1, 2))
    assert elected.are_known(image(1, 1))


def test_unclean_leader_may_be_any_replica() -> None:
    elected = ElectedLeaders(response(0), UNCLEAN)

    assert not elected.are_known(image(NO_LEADER))
    assert elected.are_known(image(2))


def test_failed_elections_and_deleted_partitions_are_not_waited_for() -> None:
    assert ElectedLeaders(response(FAILED), PREFERRED).are_known(image(2))
    assert ElectedLeaders(response(0, 0), PREFERRED).are_known(image(1))
    assert ElectedLeaders(response(0), PREFERRED).are_known(cluster())


def test_leader_that_is_not_known_in_time_is_an_error() -> None:
    answer = response(0, 0, FAILED)

    ElectedLeaders(answer, PREFERRED).time_out(image(1, 2, 2))

    assert codes(answer) == [0, TIMED_OUT, FAILED]
