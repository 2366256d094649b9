"""Offsets of finished batches in a group."""

import logging
from typing import TYPE_CHECKING

import pytest

import cordwood
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.stream.group_commits import GroupCommitter
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.spark.stream.stream_samples import T0, T1

if TYPE_CHECKING:
    from cordwood.testing.kafka_fixture import Kafka


def committed(kafka: "Kafka") -> dict[tuple[str, int], int]:
    with cordwood.Admin(kafka.bootstrap) as admin:
        offsets = admin.list_group_offsets("lake")
    return {each: found.offset for each, found in offsets.items()}


def test_positions_are_committed(kafka: "Kafka") -> None:
    kafka.create_topic("t", partitions=2)
    group = GroupCommitter("lake", SourceOptions(servers=kafka.bootstrap), VirtualClock())

    group.commit({T0: 3, T1: 5})
    group.commit({T0: 4, T1: 5})

    assert committed(kafka) == {T0: 4, T1: 5}
    group.close()


def test_failed_commit_is_logged_and_counted_and_repeated_later(
    kafka: "Kafka", caplog: pytest.LogCaptureFixture
) -> None:
    kafka.create_topic("t")
    clock = VirtualClock()
    group = GroupCommitter("lake", SourceOptions(servers=kafka.bootstrap), clock)
    with cordwood.Consumer(kafka.bootstrap, group="lake", enable_auto_commit=False) as member:
        member.subscribe(["t"])
        while not member.assignment():
            member.poll(timeout_ms=10)
        with caplog.at_level(logging.WARNING, "cordwood"):
            group.commit({T0: 3})

    assert group.failures == 1
    assert "group 'lake': offsets are not committed: the name is taken" in caplog.text
    group.commit({T0: 3})
    assert committed(kafka) == {}
    clock.advance(seconds=31)
    group.commit({T0: 3})
    assert committed(kafka) == {T0: 3}
    group.close()


def test_nothing_is_committed_twice(kafka: "Kafka") -> None:
    kafka.create_topic("t")
    group = GroupCommitter("lake", SourceOptions(servers=kafka.bootstrap), VirtualClock())
    group.commit({T0: 3})
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.delete_groups(["lake"])

    group.commit({T0: 3})

    assert committed(kafka) == {}
    group.close()
