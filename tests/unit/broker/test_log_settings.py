"""What those who look after logs are told by a broker's settings."""

from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.log_settings import manager_settings, producer_settings, upkeep_settings
from cordwood.core.settings import Source
from cordwood.core.types import TopicName
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.upkeep import UpkeepSettings


def test_settings_are_the_defaults_where_nothing_is_given() -> None:
    configs = BrokerConfigs(1, [])

    assert upkeep_settings(configs) == UpkeepSettings()
    assert producer_settings(configs) == ProducerSettings()
    assert manager_settings(configs).delete_delay_ms == 60_000


def test_manager_asks_for_topics_live() -> None:
    configs = BrokerConfigs(1, [Source("x", {"log.segment.bytes": "2000000"})])

    config = manager_settings(configs).config_for(TopicName("orders"))

    assert config.segment_bytes == 2_000_000
