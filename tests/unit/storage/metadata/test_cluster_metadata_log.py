"""Topics and configs are read from Kafka's metadata records."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.core.metadata_paths import BROKER, TOPIC
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata
from tests.unit.workbench.metadata_samples import (
    TOPIC_ID,
    config,
    partition,
    partition_change,
    producers,
    topic,
    topic_gone,
)


def applied(*values: bytes | None) -> ClusterMetadata:
    metadata = ClusterMetadata()
    metadata.apply_all(values)
    return metadata


def test_topics_and_configs_are_applied() -> None:
    metadata = applied(
        topic("t"), None, config(TOPIC, "t", "retention.ms", "5"), config(BROKER, "", "a", "b")
    )

    assert metadata.topics == {"t": TOPIC_ID}
    assert metadata.config_of(TOPIC, "t") == {"retention.ms": "5"}
    assert metadata.config_of(BROKER, "") == {"a": "b"}
    assert metadata.config_of(BROKER, "1") == {}


def test_later_config_replaces_and_null_removes() -> None:
    metadata = applied(
        config(TOPIC, "t", "a", "1"),
        config(TOPIC, "t", "a", "2"),
        config(TOPIC, "t", "b", "1"),
        config(TOPIC, "t", "b", None),
    )

    assert metadata.config_of(TOPIC, "t") == {"a": "2"}


def test_deleted_topic_loses_its_config() -> None:
    metadata = applied(
        topic("t"), topic("u", bytes(16)), config(TOPIC, "t", "a", "1"), topic_gone()
    )

    assert list(metadata.topics) == ["u"]
    assert metadata.configs == {}


def test_replicas_are_those_of_the_latest_change() -> None:
    metadata = applied(
        topic("t"),
        partition(0, 1, 2),
        partition(1, 2),
        partition_change(0, 2, 3),
        partition_change(1),
    )

    assert metadata.replicas == {TOPIC_ID: {0: (2, 3), 1: (2,)}}


def test_each_change_of_the_leader_begins_an_epoch() -> None:
    metadata = applied(
        topic("t"),
        partition(0, 1, 2, leader_epoch=3),
        partition(1, 2, leader_epoch=4),
        partition_change(0),
        partition_change(0, 2, 3),
    )

    assert metadata.leader_epochs == {TOPIC_ID: {0: 5, 1: 4}}


def test_deleted_topic_loses_its_leader_epochs() -> None:
    assert applied(topic("t"), partition(0, 1), topic_gone()).leader_epochs == {}


def test_deleted_topic_loses_its_replicas() -> None:
    assert applied(topic("t"), partition(0, 1), topic_gone()).replicas == {}


def test_next_producer_id_is_the_latest() -> None:
    assert applied(producers(1000), producers(3000)).next_producer_id == 3000


def test_other_records_and_versions_are_ignored() -> None:
    assert applied(b"\x01\x0c\x00rest", b"\x01\x02\x07rest") == ClusterMetadata()


@pytest.mark.parametrize("value", (b"\x00\x02\x00", b"\x01", b"\x01\x04\x00", topic("t")[:-5]))
def test_record_of_another_format_is_rejected(value: bytes) -> None:
    with pytest.raises(BytesError):
        applied(value)
