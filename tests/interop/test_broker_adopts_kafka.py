"""A log directory of Kafka 4.3 is served by our broker as it is, and by Kafka again afterwards."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, producer_settings
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.metadata_lag import await_metadata
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_broker import cordwood_over
from tests.interop.kafka_harness.spec import SpecRecord
from tests.interop.kafka_harness.wire import ask

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

KEPT: Final = "kept"
GROUP: Final = "a/b"
COMPACTED: Final = "compacted"
TOPICS: Final = {
    KEPT: {"retention.ms": "123456789"},
    COMPACTED: {"cleanup.policy": "compact", "max.compaction.lag.ms": "4321"},
}
LATER: Final = "later"
SENT: Final = samples.plain()


@dataclass(slots=True)
class Turn:
    """The answers and files of one owner of the directory."""

    ids: dict[str | None, Uuid]
    configs: dict[str, str | None]
    records: dict[str, tuple[SpecRecord, ...]]
    offsets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Story:
    """Kafka, then our broker, then Kafka again; `events` are our messages at the start."""

    kafka: Turn
    ours: Turn
    again: Turn
    ours_again: Turn
    events: str
    changed: set[str]


@pytest.fixture(scope="module")
def story(kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("adopted-by-us")
    broker = kraft_broker(kafka43_jars, folder, kafka43)
    kafka = _turn_of(broker, made=TOPICS)
    before = _foreign_files(broker.logs)
    ours_broker = cordwood_over(broker.logs, kafka43)
    ours = _turn_of(ours_broker)
    changed = {path for path, data in _foreign_files(broker.logs).items() if data != before[path]}
    again = _turn_of(broker, made={LATER: {"retention.ms": "987654321"}})
    ours_again = _turn_of(ours_broker)
    return Story(kafka, ours, again, ours_again, (folder / "cordwood.txt").read_text(), changed)


def _turn_of(broker: Broker, *, made: dict[str, dict[str, str]] | None = None) -> Turn:
    """Start a broker, read its records, write with an idempotent producer, and stop it."""
    broker.start()
    try:
        if made:
            broker.create_topics(made)
            _configure_all(broker)
            await_metadata(broker.bootstrap)
        turn = Turn(_ids(broker), _configs(broker), _records(broker))
        settings = producer_settings("lz4", is_idempotent=True)
        turn.offsets = broker.oracle.produce(broker.bootstrap, KEPT, SENT, settings)
        return turn
    finally:
        broker.stop()


def _configure_all(broker: Broker) -> None:
    resources = [
        AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[AlterableConfig(name=key, config_operation=0, value=value)],
        )
        for kind, name, key, value in (
            (4, "", "log.segment.ms", "7654321"),
            (32, GROUP, "consumer.session.timeout.ms", "50000"),
        )
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=False)
    answer = ask(broker.bootstrap, request, 1, answer=IncrementalAlterConfigsResponse)
    assert [each.error_code for each in answer.responses] == [0, 0]


def _ids(broker: Broker) -> dict[str | None, Uuid]:
    answer = ask(broker.bootstrap, MetadataRequest(topics=None), 12, answer=MetadataResponse)
    return {each.name: each.topic_id for each in answer.topics if each.name in {*TOPICS, LATER}}


def _configs(broker: Broker) -> dict[str, str | None]:
    return {
        each["name"]: each["value"]
        for kind, name in (("TOPIC", KEPT), ("GROUP", GROUP))
        for each in broker.oracle.describe_configs(broker.bootstrap, kind=kind, name=name)
    }


def _records(broker: Broker) -> dict[str, tuple[SpecRecord, ...]]:
    oracle, bootstrap = broker.oracle, broker.bootstrap
    return {topic: oracle.consume(bootstrap, topic, "read_uncommitted") for topic in TOPICS}


def _foreign_files(logs: Path) -> dict[str, bytes]:
    """Return what only Kafka has a reason to change."""
    paths = [logs / "meta.properties", *logs.glob("*/partition.metadata")]
    paths += logs.glob("__cluster_metadata-0/*")
    return {str(path.relative_to(logs)): path.read_bytes() for path in paths if path.is_file()}


def test_topics_keep_their_ids(story: Story) -> None:
    assert set(story.kafka.ids) == set(TOPICS)
    assert NO_UUID not in story.kafka.ids.values()
    assert story.kafka.ids == story.ours.ids
    assert {name: story.again.ids[name] for name in TOPICS} == story.kafka.ids


def test_topic_created_by_kafka_later_is_served(story: Story) -> None:
    assert LATER in story.again.ids
    assert story.ours_again.ids == story.again.ids
    assert "1 topics with 1 partitions from " in story.events


@pytest.mark.parametrize("name", ("retention.ms", "segment.ms", "cleanup.policy"))
def test_settings_are_those_of_kafka(story: Story, name: str) -> None:
    assert story.ours.configs[name] == story.kafka.configs[name]


def test_settings_of_a_group_are_those_of_kafka(story: Story) -> None:
    name = "consumer.session.timeout.ms"

    assert story.kafka.configs[name] == story.ours.configs[name] == "50000"


def test_records_are_served_by_each_owner_in_turn(story: Story) -> None:
    assert story.kafka.records[KEPT] == ()
    assert len(story.ours.records[KEPT]) == len(SENT)
    assert len(story.again.records[KEPT]) == 2 * len(SENT)
    assert story.again.records[KEPT][: len(SENT)] == story.ours.records[KEPT]


def test_each_broker_continues_at_the_end_offset_of_the_previous_one(story: Story) -> None:
    turns = (story.kafka, story.ours, story.again, story.ours_again)

    offsets = [offset for turn in turns for offset in turn.offsets]

    assert offsets == list(range(4 * len(SENT)))


def test_files_of_kafka_are_not_changed(story: Story) -> None:
    assert not story.changed


def test_adopted_topics_are_reported(story: Story) -> None:
    assert "2 topics with 2 partitions from " in story.events
    assert "__cluster_metadata-0" in story.events
