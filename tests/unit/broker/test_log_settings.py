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


def test_change_reaches_many_logs_a_few_a_turn() -> None:
    configs, house = BrokerConfigs(1, []), House()
    manager = house.load()
    logs = made(manager, *range(45))
    keep_current(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    at_once = [log.config.retention_ms for log in logs].count(7)
    house.clock.advance(ms=1)

    assert at_once == 20
    assert {log.config.retention_ms for log in logs} == {7}


def test_change_on_its_way_does_not_undo_a_later_one() -> None:
    configs, house = BrokerConfigs(1, []), House()
    manager = house.load()
    last = made(manager, *range(45))[-1]
    keep_current(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    configs.apply(topic_resource("orders"), {"retention.ms": "5"})
    house.clock.advance(ms=1)

    assert last.config.retention_ms == 5


def test_no_log_is_changed_once_the_rounds_are_stopped() -> None:
    configs, house = BrokerConfigs(1, []), House()
    manager = house.load()
    last = made(manager, *range(45))[-1]
    rounds = keep_current(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    rounds.stop()
    house.clock.advance(ms=1)

    assert last.config.retention_ms != 7
