"""Tests of authorized operations."""

from cordwood.broker.topics.authorized_operations import NOT_REQUESTED, OF_CLUSTER, OF_TOPIC


def test_operations_without_an_authorizer_are_those_of_kafka() -> None:
    assert (OF_TOPIC, OF_CLUSTER, NOT_REQUESTED) == (3576, 8096, -2147483648)
