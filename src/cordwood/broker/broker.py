"""What handlers are given: the parts of a broker, each with its own rules; none are here."""

from dataclasses import dataclass

from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.configuring import ConfigChanges
from cordwood.broker.features import Features
from cordwood.broker.fetch_sessions import FetchSessions
from cordwood.broker.metadata import Metadata
from cordwood.broker.network import Network
from cordwood.broker.partitions import Partitions
from cordwood.broker.producer_ids import ProducerIds
from cordwood.broker.topics import Topics
from cordwood.storage.manager import LogManager


@dataclass(slots=True, kw_only=True)
class Broker:
    """The parts of one broker, put together by whoever starts it."""

    network: Network
    features: Features
    configs: BrokerConfigs
    config_changes: ConfigChanges
    metadata: Metadata
    topics: Topics
    logs: LogManager
    partitions: Partitions
    sessions: FetchSessions
    producer_ids: ProducerIds
