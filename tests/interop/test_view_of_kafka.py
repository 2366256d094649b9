"""`open_log`'s view of a partition that a running Kafka serves."""

import json

import pytest

import cordwood
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

TOPIC = "viewed"
SENT = (*samples.plain(), *samples.many())


@pytest.fixture(scope="module")
def view(broker43: Broker) -> cordwood.PartitionView:
    broker43.create_topics({TOPIC: {"retention.ms": "-1", "segment.ms": "3600000"}})
    settings = producer_settings("zstd", is_idempotent=True)
    broker43.oracle.produce(broker43.bootstrap, TOPIC, SENT, settings)
    return cordwood.open_log(broker43.partition(TOPIC))


def test_view_has_the_end_offset_of_kafkas_log(view: cordwood.PartitionView) -> None:
    found = view.offsets()

    assert (found.partition, found.log_start, found.log_end) == (f"{TOPIC}-0", 0, len(SENT))
    assert f"log_end={len(SENT)}" in repr(found)
    assert json.loads(found.to_json())["tail_bytes"] == 0


def test_view_counts_the_records_of_kafka(view: cordwood.PartitionView) -> None:
    found = view.stat(deep=True)

    assert (found.total.records, list(found.total.codecs)) == (len(SENT), ["zstd"])
    assert f"records={len(SENT)}" in repr(found)
    assert json.loads(found.to_json())["total"]["producers"] == 1


def test_view_finds_no_damage_in_kafkas_log(view: cordwood.PartitionView) -> None:
    found = view.verify()

    assert found.damages == ()
    assert "is_damaged" in json.loads(found.to_json())
    assert str(found).startswith(f"good: {view.path}: offsets 0 to {len(SENT) - 1}")


def test_view_explains_by_the_settings_that_kafka_has(view: cordwood.PartitionView) -> None:
    found = view.explain()

    told = {
        each.name: (each.value, "__cluster_metadata-0" in each.source) for each in found.settings
    }
    assert (told["retention.ms"], told["segment.ms"]) == (("-1", True), ("3600000", True))
    assert told["retention.bytes"] == ("-1", False)
    assert json.loads(found.to_json())["log_end"] == len(SENT)


def test_view_reads_the_records_that_were_sent(view: cordwood.PartitionView) -> None:
    rows = [row for batch in view.arrow(["key", "value"], view=True) for row in batch.to_pylist()]

    assert [(row["key"], row["value"]) for row in rows] == [(each.key, each.value) for each in SENT]
