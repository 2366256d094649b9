"""Tests of the table of settings without an effect."""

import pytest

from cordwood.broker.settings.ignored.ignored_catalogue import (
    IGNORED_SETTINGS,
    find_ignore_reason,
    ignored_by_reason,
)
from cordwood.core.settings import SettingScope


@pytest.mark.parametrize(
    ("key", "reason"),
    (
        ("num.io.threads", "one thread handles requests, and a pool runs blocking calls"),
        ("zookeeper.set.acl", "ZooKeeper is used without TLS and without access control"),
        ("password.encoder.secret", "Kafka 4 has removed them"),
        ("rsm.config.bucket", "remote storage is not supported"),
        ("num.partitions", None),
        ("remote.log.reader.thread", None),
        ("zookeeper", None),
    ),
)
def test_ignored_key_has_a_reason(key: str, reason: str | None) -> None:
    assert find_ignore_reason(key) == reason


def test_every_declared_name_has_its_reason() -> None:
    listed = [name for names in ignored_by_reason().values() for name in names]

    assert {each.name for each in IGNORED_SETTINGS} <= set(listed)
    assert len(listed) == len(set(listed))


def test_dynamic_settings_of_kafka_stay_dynamic() -> None:
    scopes = [each.scope for each in IGNORED_SETTINGS if not each.is_internal]

    assert scopes.count(SettingScope.CLUSTER) == 19
    assert scopes.count(SettingScope.BROKER) == 18
    assert SettingScope.TOPIC not in scopes
