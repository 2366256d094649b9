"""Tests of the settings of coordinators."""

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.coordinators.coordinator_settings import (
    group_settings,
    offsets_codec,
    transaction_settings,
)
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.core.settings import SettingSource
from cordwood.records.compression import Codec


def configs(**given: str) -> BrokerConfigs:
    texts = {key.replace("_", "."): text for key, text in given.items()}
    return BrokerConfigs(1, [SettingSource("test", texts)])


def test_defaults_of_the_broker_are_those_of_the_coordinators() -> None:
    assert group_settings(configs()) == GroupSettings()
    assert transaction_settings(configs()) == TransactionSettings()


def test_given_settings_are_used() -> None:
    given = configs(offsets_retention_minutes="2", group_consumer_assignors="range")

    settings = group_settings(given)

    assert (settings.offsets_retention_ms, settings.consumer_assignors) == (120_000, ("range",))


def test_offsets_are_compressed_with_the_codec_of_the_setting() -> None:
    assert offsets_codec(configs(offsets_topic_compression_codec="3")) is Codec.LZ4
