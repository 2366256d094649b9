"""What those who look after logs are told by a broker's settings."""

from cordwood.broker.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.log_settings import (
    keep_current,
    manager_settings,
    producer_settings,
    upkeep_settings,
)
from cordwood.core.settings import Source
from cordwood.core.types import TopicName
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.upkeep import UpkeepSettings
from tests.unit.storage.manager_samples import House, made, partition


def test_settings_are_the_defaults_where_nothing_is_given() -> None:
    configs = BrokerConfigs(1, [])

    assert upkeep_settings(configs) == UpkeepSettings()
    assert producer_settings(configs) == ProducerSettings()
    assert manager_settings(configs).delete_delay_ms == 60_000


def test_manager_asks_for_topics_live() -> None:
    configs = BrokerConfigs(1, [Source("x", {"log.segment.bytes": "2000000"})])

    config = manager_settings(configs).config_for(TopicName("orders"))

    assert config.segment_bytes == 2_000_000


def test_change_reaches_the_logs_that_there_are() -> None:
    configs, manager = BrokerConfigs(1, []), House().load()
    orders, other = made(manager)[0], manager.create(partition(topic="other"), topic_id=None)
    keep_current(manager, configs)

    configs.apply(topic_resource("orders"), {"retention.ms": "5"})
    configs.apply(ALL_BROKERS, {"log.retention.ms": "7", "producer.id.expiration.ms": "9"})

    assert [log.config.retention_ms for log in (orders, other)] == [5, 7]
    assert orders.producers.settings.id_expiration_ms == 9
