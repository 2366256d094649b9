"""Tests of configuration changes: stored before they take effect."""

import pytest

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import (
    group_resource,
    topic_resource,
)
from cordwood.core.errors import KafkaStorageError, UnknownTopicOrPartitionError
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.image_samples import topic

ORDERS = topic_resource("orders")
SHORTER = ConfigAlteration("retention.ms", AlterOperation.SET, "5")


def harness() -> BrokerHarness:
    made = BrokerHarness()
    made.metadata.publish(made.metadata.image.with_topic(topic("orders")))
    return made


def test_change_that_is_not_stored_is_not_applied() -> None:
    place = harness()
    place.store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        run(place.broker.config_changes.alter(ORDERS, [SHORTER], validate_only=False))

    assert place.configs.texts(ORDERS) == {}


def test_changes_build_on_each_other() -> None:
    place = harness()
    longer = ConfigAlteration("segment.ms", AlterOperation.SET, "7")

    for change in (SHORTER, longer):
        run(place.broker.config_changes.alter(ORDERS, [change], validate_only=False))

    assert place.configs.texts(ORDERS) == {"retention.ms": "5", "segment.ms": "7"}


def test_replacement_removes_all_earlier_texts() -> None:
    place = harness()
    changes = place.broker.config_changes
    run(changes.replace(ORDERS, [("retention.ms", "5")], validate_only=False))

    run(changes.replace(ORDERS, [("segment.ms", "7")], validate_only=True))
    before = dict(place.configs.texts(ORDERS))
    run(changes.replace(ORDERS, [("segment.ms", "7")], validate_only=False))

    assert before == {"retention.ms": "5"}
    assert place.configs.texts(ORDERS) == {"segment.ms": "7"}


def test_missing_topic_is_rejected() -> None:
    changes = harness().broker.config_changes

    with pytest.raises(UnknownTopicOrPartitionError, match="The topic 'x' does not exist"):
        run(changes.alter(topic_resource("x"), [SHORTER], validate_only=True))


def test_group_that_does_not_exist_gets_a_configuration() -> None:
    place, billing = harness(), group_resource("billing")
    change = ConfigAlteration("consumer.session.timeout.ms", AlterOperation.SET, "50000")

    run(place.broker.config_changes.alter(billing, [change], validate_only=True))
    before = place.configs.texts(billing)
    run(place.broker.config_changes.alter(billing, [change], validate_only=False))

    assert before == {}
    assert place.configs.group_numbers("billing") == {"consumer.session.timeout.ms": 50_000}
    assert place.store.children("/config/groups") == ["billing"]
