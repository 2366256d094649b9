"""Planning of a read, from options to splits."""

from pathlib import Path

import pytest

from cordwood.core.errors import CorruptMessageError, OffsetOutOfRangeError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import (
    BrokerSource,
    KnownEnd,
    OffsetRange,
    PartitionDirectory,
)
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.offset_resolution import PartitionWitness
from cordwood.spark.source.source_options import OffsetRangeLimit, SourceOptions, TopicChoice
from cordwood.spark.source.split_planning import find_witnesses, plan_read, plan_splits
from cordwood.spark.source.splits import RECORD_BYTES, Split
from tests.unit.client.fake_broker import FakeBroker, served
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

T0 = TopicPartition(TopicName("t"), PartitionId(0))
TOPICS = TopicChoice(names=frozenset({"t"}))


def _with_log(folder: Path, end: int) -> str:
    """Return a log directory with a partition of `end` records."""
    (folder / "t-0").mkdir()
    (folder / "t-0" / name(0)).write_bytes(b"".join(map(v2, range(end))))
    return str(folder)


def _with_end(fake: FakeBroker, end: int) -> str:
    fake.ends["t", 0] = end
    return fake.address


def test_directories_alone_are_read_up_to_their_end(tmp_path: Path) -> None:
    (split,) = plan_splits(SourceOptions(paths=(_with_log(tmp_path, 4),)))

    assert split.range == OffsetRange(T0, 0, 4)
    assert split.source == PartitionDirectory(f"{tmp_path}/t-0")
    assert split.size == 4 * len(v2(0))


def test_brokers_are_read_up_to_their_end_offset() -> None:
    with served(t=1) as fake:
        splits = plan_splits(SourceOptions(servers=_with_end(fake, 9), topics=TOPICS))

    assert splits == [Split(OffsetRange(T0, 0, 9), 9 * RECORD_BYTES, BrokerSource())]


def test_records_after_the_segments_are_read_from_brokers(tmp_path: Path) -> None:
    paths = (_with_log(tmp_path, 4),)
    with served(t=1) as fake:
        splits = plan_splits(SourceOptions(paths=paths, servers=_with_end(fake, 9), topics=TOPICS))

    assert [split.range for split in splits] == [OffsetRange(T0, 0, 4), OffsetRange(T0, 4, 9)]
    assert [split.source for split in splits] == [
        PartitionDirectory(f"{tmp_path}/t-0"),
        BrokerSource(),
    ]


def test_segments_are_not_read_beyond_the_end_offset_of_brokers(tmp_path: Path) -> None:
    paths = (_with_log(tmp_path, 4),)
    with served(t=1) as fake:
        (split,) = plan_splits(
            SourceOptions(paths=paths, servers=_with_end(fake, 3), topics=TOPICS)
        )

    assert split.range == OffsetRange(T0, 0, 3)


def test_min_partitions_sets_the_number_of_splits(tmp_path: Path) -> None:
    splits = plan_splits(SourceOptions(paths=(_with_log(tmp_path, 40),), min_partitions=4))

    assert [split.range.end for split in splits] == [10, 20, 30, 40]


def test_max_records_limits_the_records_of_a_split(tmp_path: Path) -> None:
    splits = plan_splits(SourceOptions(paths=(_with_log(tmp_path, 9),), max_records=4))

    assert [split.range.end for split in splits] == [4, 8, 9]


def test_gap_is_rejected_before_any_task_begins(tmp_path: Path) -> None:
    starting = OffsetRangeLimit(is_time=False, default=-2, by_partition={T0: 9})
    options = SourceOptions(paths=(_with_log(tmp_path, 4),), starting=starting)

    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 4 to 8 of t-0"):
        plan_splits(options)


def test_missing_topic_is_rejected(tmp_path: Path) -> None:
    topics = TopicChoice(names=frozenset({"tt"}))

    with pytest.raises(SettingError, match="topic 'tt' does not exist; did you mean t"):
        plan_splits(SourceOptions(paths=(_with_log(tmp_path, 4),), topics=topics))


@pytest.mark.parametrize("spelling", ("{0}/", "file:{0}", "file://{0}/", "{0}/t-0/", "{0}/t-0/."))
def test_path_may_be_written_in_many_ways(tmp_path: Path, spelling: str) -> None:
    options = parse_local_options({"path": spelling.format(_with_log(tmp_path, 1))})

    (split,) = plan_splits(options)

    assert split.source == PartitionDirectory(f"{tmp_path}/t-0")


def test_segment_with_an_unknown_magic_is_named(tmp_path: Path) -> None:
    path = _with_log(tmp_path, 1)
    for first in (5, 9):
        (tmp_path / "t-0" / name(first)).write_bytes(bytes([7]) * 200)

    with pytest.raises(CorruptMessageError, match=rf"{tmp_path}/t-0/{name(5)}: unknown magic"):
        plan_splits(SourceOptions(paths=(path,)))


def _checkpointed(folder: Path, end: int) -> str:
    (folder / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {end}\n")
    return str(folder)


def test_directories_end_at_their_high_watermark(tmp_path: Path) -> None:
    path = _checkpointed(Path(_with_log(tmp_path, 4)), 3)

    (split,) = plan_splits(SourceOptions(paths=(path,)))
    (whole,) = plan_splits(SourceOptions(paths=(path,), is_to_log_end=True))

    assert (split.range.end, whole.range.end) == (3, 4)


def test_records_that_a_failover_truncated_are_read_from_brokers(tmp_path: Path) -> None:
    path = _checkpointed(Path(_with_log(tmp_path, 4)), 2)
    with served(t=1) as fake:
        options = SourceOptions(paths=(path,), servers=_with_end(fake, 9), topics=TOPICS)
        splits = plan_splits(options)

    assert [split.range for split in splits] == [OffsetRange(T0, 0, 2), OffsetRange(T0, 2, 9)]


def test_plan_continues_at_a_known_end(tmp_path: Path) -> None:
    options = SourceOptions(paths=(_with_log(tmp_path, 6),))

    plan = plan_read(options, known={T0: KnownEnd(4, 4)})

    assert [split.range for split in plan.splits] == [OffsetRange(T0, 4, 6)]
    assert plan.ranges == {T0: OffsetRange(T0, 0, 6)}
    assert plan.witnesses == {T0: PartitionWitness(6, 4)}


def test_plan_with_a_later_leader_epoch_has_a_truncated_end(tmp_path: Path) -> None:
    options = SourceOptions(paths=(_with_log(tmp_path, 6),))

    plan = plan_read(options, known={T0: KnownEnd(4, 3)})

    assert plan.witnesses == {T0: PartitionWitness(6, 4, truncated_at=3)}


def test_log_end_of_a_witness_is_after_the_high_watermark(tmp_path: Path) -> None:
    path = _checkpointed(Path(_with_log(tmp_path, 6)), 2)

    plan = plan_read(SourceOptions(paths=(path,)), known={T0: KnownEnd(4, 4)})

    assert (plan.splits, plan.witnesses[T0].log_end) == ([], 6)


def test_end_of_brokers_is_the_log_end_of_a_witness(tmp_path: Path) -> None:
    with served(t=1) as fake:
        options = SourceOptions(
            paths=(_with_log(tmp_path, 6),), servers=_with_end(fake, 5), topics=TOPICS
        )
        plan = plan_read(options, known={})

    assert plan.witnesses == {T0: PartitionWitness(5, 4)}


def test_end_that_is_not_written_yet_is_rejected_where_a_plan_continues(tmp_path: Path) -> None:
    ending = OffsetRangeLimit(is_time=False, default=-1, by_partition={T0: 9})
    options = SourceOptions(paths=(_with_log(tmp_path, 4),), ending=ending)

    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 4 to 8 of t-0"):
        plan_read(options, known={T0: KnownEnd(2)})


def test_witnesses_are_found_without_a_plan(tmp_path: Path) -> None:
    options = SourceOptions(paths=(_with_log(tmp_path, 6),))

    found = find_witnesses(options, {T0: KnownEnd(4, 3)})

    assert found == {T0: PartitionWitness(6, 4, truncated_at=3)}
