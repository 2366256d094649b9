"""What handlers are given: the parts of a broker, each with its own rules; none are here."""

from dataclasses import dataclass

from cordwood.broker.features import Features
from cordwood.broker.network import Network


@dataclass(slots=True, kw_only=True)
class Broker:
    """The parts of one broker, put together by whoever starts it."""

    network: Network
    features: Features
