"""Tests of elections and reassignments on an embedded broker."""

import pytest

from cordwood.broker.topics.single_broker_controller import (
    check_election_type,
    election_result,
    reassignment_error,
)
from cordwood.core.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    KafkaError,
    NoReassignmentInProgressError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
    error_code_of,
)
from tests.unit.broker.image_samples import cluster, topic

PREFERRED, UNCLEAN = 0, 1
ORDERS = topic("orders", 2)
IMAGE = cluster(ORDERS.without_leaders([*ORDERS.names()][1:]))


@pytest.mark.parametrize(
    ("name", "index", "kind", "error"),
    (
        ("orders", 0, PREFERRED, ElectionNotNeededError),
        ("orders", 0, UNCLEAN, ElectionNotNeededError),
        ("orders", 1, PREFERRED, PreferredLeaderNotAvailableError),
        ("orders", 1, UNCLEAN, EligibleLeadersNotAvailableError),
        ("orders", 2, PREFERRED, UnknownTopicOrPartitionError),
        ("orders", -1, PREFERRED, UnknownTopicOrPartitionError),
        ("no", 0, PREFERRED, UnknownTopicOrPartitionError),
    ),
)
def test_no_election_changes_a_leader(
    name: str, index: int, kind: int, error: type[KafkaError]
) -> None:
    result = election_result(IMAGE, name, index=index, election_type=kind)

    assert (result.partition_id, result.error_code) == (index, error.code)


def test_unknown_election_type_is_rejected() -> None:
    check_election_type(PREFERRED)
    check_election_type(UNCLEAN)
    with pytest.raises(InvalidRequestError, match="Unknown election type 2"):
        check_election_type(2)


@pytest.mark.parametrize(
    ("name", "index", "replicas", "code"),
    (
        ("orders", 0, [1], 0),
        ("orders", 0, None, NoReassignmentInProgressError.code),
        ("orders", 0, [], InvalidReplicaAssignmentError.code),
        ("orders", 0, [2], InvalidReplicaAssignmentError.code),
        ("orders", 0, [1, 1], InvalidReplicaAssignmentError.code),
        ("orders", 2, [1], UnknownTopicOrPartitionError.code),
        ("no", 0, [1], UnknownTopicOrPartitionError.code),
    ),
)
def test_reassignment_to_the_present_replica_alone_succeeds(
    name: str, index: int, replicas: list[int] | None, code: int
) -> None:
    error = reassignment_error(IMAGE, name, index=index, target=replicas, may_change_factor=True)

    assert error_code_of(error) == code
    assert (error is None) == (code == 0)


def test_other_number_of_replicas_is_rejected_where_it_is_forbidden() -> None:
    image = cluster(topic("orders"), brokers=2)

    error = reassignment_error(image, "orders", index=0, target=[1, 2], may_change_factor=False)

    assert isinstance(error, InvalidReplicationFactorError)
    assert str(error) == "The replication factor is changed from 1 to 2"
