"""A broker is its parts."""

from cordwood.broker.broker import Broker
from cordwood.broker.features import Features
from cordwood.broker.network import Network
from cordwood.testing.clock import VirtualClock


def test_broker_hands_out_the_parts_it_was_given() -> None:
    clock, features = VirtualClock(), Features()

    broker = Broker(network=Network(clock, clock), features=features)

    assert broker.features is features
    assert broker.network.clock is clock
