"""Logs of the old formats, written by Kafka 3.9: we open, read and close them, and Kafka 3.9 does
the same afterwards. Its v0 and v1 logs also take batches of ours as a follower would.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker, producer_settings, zookeeper_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.our_manager import (
    content,
    follow_spec,
    managed,
    partition_of,
)
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import LEGACY_CODECS, NO_TIMESTAMP, Spec, SpecRecord

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

FORMATS: Final = {0: "0.9.0", 1: "0.10.0"}
SENT: Final = (*samples.plain(), *samples.nulls(), *samples.many())

Contents = dict[str, tuple[SpecRecord, ...]]


@dataclass(slots=True)
class Visit:
    """The content before, our findings and changes, and the content after Kafka's restart."""

    before: Contents
    files: dict[str, bytes]
    found: Contents = field(default_factory=dict)
    files_after: dict[str, bytes] = field(default_factory=dict)
    left: Contents = field(default_factory=dict)
    after: Contents = field(default_factory=dict)


def consumed(broker: Broker) -> Contents:
    return {
        codec: broker.oracle.consume(broker.bootstrap, codec, "read_uncommitted")
        for codec in LEGACY_CODECS
    }


def files_of(broker: Broker) -> dict[str, bytes]:
    """The logs and indexes of all topics."""
    folders = [broker.partition(codec) for codec in LEGACY_CODECS]
    paths = [path for folder in folders for path in folder.glob("0*")]
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


def look(logs: Path) -> Contents:
    """Open a directory, read everything, and close it."""
    with managed(logs) as manager:
        return {codec: content(manager.logs[partition_of(codec)]) for codec in LEGACY_CODECS}


def append(logs: Path, magic: int) -> Contents:
    """Write a batch to each log as a follower receives it; return the records of the log."""
    timestamp_type = 0 if magic else NO_TIMESTAMP
    with managed(logs) as manager:
        for codec in LEGACY_CODECS:
            records = samples.plain() if magic else _timeless(samples.plain())
            spec = Spec(records=records, magic=magic, codec=codec, timestamp_type=timestamp_type)
            follow_spec(manager.logs[partition_of(codec)], spec)
        return {codec: content(manager.logs[partition_of(codec)]) for codec in LEGACY_CODECS}


def _timeless(records: tuple[SpecRecord, ...]) -> tuple[SpecRecord, ...]:
    return tuple(replace(record, timestamp=NO_TIMESTAMP) for record in records)


@pytest.fixture(scope="module", params=FORMATS, ids="v{}".format)
def visit(
    request: pytest.FixtureRequest,
    kafka39_jars: Jars,
    kafka39: Oracle,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Visit]:
    magic: int = request.param
    folder = tmp_path_factory.mktemp(f"kafka39-v{magic}")
    broker = zookeeper_broker(kafka39_jars, folder, kafka39, FORMATS[magic])
    try:
        broker.start()
        broker.create_topics({codec: {} for codec in LEGACY_CODECS})
        for codec in LEGACY_CODECS:
            kafka39.produce(broker.bootstrap, codec, SENT, producer_settings(codec))
        before = consumed(broker)
        broker.stop()
        seen = Visit(before, files_of(broker))
        seen.found = look(broker.logs)
        seen.files_after = files_of(broker)
        seen.left = append(broker.logs, magic)
        assert {batch.magic for batch in read_ours(broker.segment("gzip"))} == {magic}
        broker.start()
        seen.after = consumed(broker)
        yield seen
    finally:
        broker.stop()


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_log_of_kafka_is_read(visit: Visit, codec: str) -> None:
    assert visit.found[codec] == visit.before[codec]
    assert len(visit.found[codec]) == len(SENT)


def test_opening_and_closing_changes_no_file(visit: Visit) -> None:
    assert visit.files_after == visit.files


@pytest.mark.parametrize("codec", LEGACY_CODECS)
def test_kafka_serves_both_afterwards(visit: Visit, codec: str) -> None:
    assert visit.after[codec] == visit.left[codec]
    assert len(visit.after[codec]) == len(SENT) + len(samples.plain())
