"""The bits of operations."""

from cordwood.broker.operations import NOT_ASKED, OF_CLUSTER, OF_TOPIC


def test_operations_are_those_of_kafka_without_an_authorizer() -> None:
    assert (OF_TOPIC, OF_CLUSTER, NOT_ASKED) == (3576, 8096, -2147483648)
