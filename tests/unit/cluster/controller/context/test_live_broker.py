"""Brokers: their endpoints."""

from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker

PLAIN = BrokerEndpoint("PLAINTEXT", "host", 9092)
SECURE = BrokerEndpoint("SECURE", "host", 9093, security_protocol=1)
BROKER = LiveBroker(1, 100, (PLAIN, SECURE))


def test_endpoint_is_found_by_the_name_of_its_listener() -> None:
    assert BROKER.endpoint("SECURE") == SECURE


def test_unknown_listener_has_no_endpoint() -> None:
    assert BROKER.endpoint("INTERNAL") is None
