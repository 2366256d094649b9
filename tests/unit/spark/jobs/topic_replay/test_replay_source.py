"""A replay resumes only from the log that it was planned for."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.errors import LogDirectoryError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.spark.jobs.topic_replay.replay_source import (
    NO_FACTS,
    SourceFacts,
    check_source,
    read_leader_epochs,
)
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.source_options import SourceOptions
from tests.spark.hostile_logs import ModelBatch, ModelLog, ModelRecord, partition, write_logs

pytestmark = pytest.mark.spark

ENDS = {TopicPartition(TopicName("t"), PartitionId(0)): 4}


def source(folder: Path, *epochs: int, topic_id: int = 1) -> SourceOptions:
    """Write a log with a batch of two records for each leader epoch; return its options."""
    log = ModelLog(partition("t", 0), Uuid(topic_id.to_bytes(16)))
    for number, epoch in enumerate(epochs):
        at = 2 * number
        records = {at: ModelRecord(b"a", 0), at + 1: ModelRecord(b"b", 0)}
        log.epochs = [*log.epochs, (epoch, at)] if epoch not in dict(log.epochs) else log.epochs
        log.batches.append(ModelBatch(at, at + 2, records, epoch))
    log.replicate(log.end)
    write_logs(folder, [log])
    return parse_local_options({"path": str(folder), "subscribe": "t"})


def facts(*epochs: int, topic_id: str | None = None) -> SourceFacts:
    ids = {} if topic_id is None else {"t": topic_id}
    return SourceFacts(topic_ids=ids, leader_epochs=[(0, epoch) for epoch in epochs])


def test_facts_have_the_latest_leader_epoch(tmp_path: Path) -> None:
    assert read_leader_epochs(source(tmp_path, 3, 5)) == [(0, 5)]


def test_log_that_only_grew_is_accepted(tmp_path: Path) -> None:
    options = source(tmp_path, 3, 3, 5)

    check_source(options, facts(3), ends=ENDS, state="state")
    check_source(options, NO_FACTS, ends=ENDS, state="state")


@pytest.mark.parametrize(
    ("epochs", "planned", "words"),
    (
        ((3, 5), facts(3), "truncated to offset 2 after the replay was planned"),
        ((3,), facts(3), "the source ends at offset 2, and the replay was planned up to 4"),
        ((3, 3), facts(3, topic_id="other"), "has another id"),
    ),
)
def test_log_that_was_replaced_is_rejected(
    tmp_path: Path, epochs: tuple[int, ...], planned: SourceFacts, words: str
) -> None:
    options = source(tmp_path, *epochs)

    with pytest.raises(LogDirectoryError, match=words):
        check_source(options, planned, ends=ENDS, state="state")


def test_partition_without_a_source_is_rejected(tmp_path: Path) -> None:
    options = source(tmp_path, 3, 3)
    gone = {TopicPartition(TopicName("t"), PartitionId(1)): 4}

    with pytest.raises(LogDirectoryError, match="t-1 is in the plan of the replay, but in no"):
        check_source(options, facts(3), ends=gone, state="state")
