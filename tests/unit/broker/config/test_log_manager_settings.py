"""Tests of the settings of the log manager."""

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.config.log_manager_settings import (
    follow_config_changes,
    maintenance_settings,
    manager_settings,
    producer_settings,
)
from cordwood.core.settings import SettingSource
from cordwood.core.types import TopicName
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.maintenance_tasks import MaintenanceSettings
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def test_settings_are_the_defaults_if_none_is_set() -> None:
    configs = BrokerConfigs(1, [])

    assert maintenance_settings(configs) == MaintenanceSettings()
    assert producer_settings(configs) == ProducerStateManagerConfig()
    assert manager_settings(configs).delete_delay_ms == 60_000


def test_manager_uses_the_current_topic_configuration() -> None:
    configs = BrokerConfigs(1, [SettingSource("x", {"log.segment.bytes": "2000000"})])

    config = manager_settings(configs).config_for(TopicName("orders"))

    assert config.segment_bytes == 2_000_000


def test_change_applies_to_existing_logs() -> None:
    configs, manager = BrokerConfigs(1, []), LogManagerHarness().load()
    orders, other = (
        create_logs(manager)[0],
        log_creation.create(manager, partition(topic="other"), topic_id=None),
    )
    follow_config_changes(manager, configs)

    configs.apply(topic_resource("orders"), {"retention.ms": "5"})
    configs.apply(ALL_BROKERS, {"log.retention.ms": "7", "producer.id.expiration.ms": "9"})

    assert [log.config.retention_ms for log in (orders, other)] == [5, 7]
    assert orders.producers.config.id_expiration_ms == 9


def test_change_of_many_logs_is_applied_in_several_loop_turns() -> None:
    configs, house = BrokerConfigs(1, []), LogManagerHarness()
    manager = house.load()
    logs = create_logs(manager, *range(45))
    follow_config_changes(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    at_once = [log.config.retention_ms for log in logs].count(7)
    house.clock.advance(ms=1)

    assert at_once == 20
    assert {log.config.retention_ms for log in logs} == {7}


def test_delayed_change_does_not_override_a_later_one() -> None:
    configs, house = BrokerConfigs(1, []), LogManagerHarness()
    manager = house.load()
    last = create_logs(manager, *range(45))[-1]
    follow_config_changes(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    configs.apply(topic_resource("orders"), {"retention.ms": "5"})
    house.clock.advance(ms=1)

    assert last.config.retention_ms == 5


def test_no_log_is_changed_once_the_rounds_are_stopped() -> None:
    configs, house = BrokerConfigs(1, []), LogManagerHarness()
    manager = house.load()
    last = create_logs(manager, *range(45))[-1]
    sweep = follow_config_changes(manager, configs)

    configs.apply(ALL_BROKERS, {"log.retention.ms": "7"})
    sweep.stop()
    house.clock.advance(ms=1)

    assert last.config.retention_ms != 7
