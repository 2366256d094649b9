"""A reading from its options to splits."""

from pathlib import Path

import pytest

from cordwood.core.errors import CorruptMessageError, OffsetOutOfRangeError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Range
from cordwood.spark.options import Bound, SourceOptions, TopicChoice
from cordwood.spark.planning import plan
from cordwood.spark.splits import RECORD_BYTES, Split
from tests.unit.client.fake_broker import FakeBroker, served
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

T0 = TopicPartition(TopicName("t"), PartitionId(0))
TOPICS = TopicChoice(names=frozenset({"t"}))


def _with_log(folder: Path, end: int) -> str:
    """Return a log directory with a partition of so many records."""
    (folder / "t-0").mkdir()
    (folder / "t-0" / name(0)).write_bytes(b"".join(map(v2, range(end))))
    return str(folder)


def _with_end(fake: FakeBroker, end: int) -> str:
    fake.ends["t", 0] = end
    return fake.address


def test_directories_alone_are_read_up_to_their_end(tmp_path: Path) -> None:
    (split,) = plan(SourceOptions(paths=(_with_log(tmp_path, 4),)))

    assert split.range == Range(T0, 0, 4)
    assert split.path == f"{tmp_path}/t-0"
    assert split.size == 4 * len(v2(0))


def test_brokers_alone_are_read_as_far_as_they_let_readers_see() -> None:
    with served(t=1) as fake:
        splits = plan(SourceOptions(servers=_with_end(fake, 9), topics=TOPICS))

    assert splits == [Split(Range(T0, 0, 9), 9 * RECORD_BYTES, None)]


def test_history_of_segments_goes_on_at_brokers(tmp_path: Path) -> None:
    paths = (_with_log(tmp_path, 4),)
    with served(t=1) as fake:
        splits = plan(SourceOptions(paths=paths, servers=_with_end(fake, 9), topics=TOPICS))

    assert [split.range for split in splits] == [Range(T0, 0, 4), Range(T0, 4, 9)]
    assert [split.path for split in splits] == [f"{tmp_path}/t-0", None]


def test_segments_are_not_read_beyond_what_brokers_let_readers_see(tmp_path: Path) -> None:
    paths = (_with_log(tmp_path, 4),)
    with served(t=1) as fake:
        (split,) = plan(SourceOptions(paths=paths, servers=_with_end(fake, 3), topics=TOPICS))

    assert split.range == Range(T0, 0, 3)


def test_as_many_splits_are_made_as_are_wanted(tmp_path: Path) -> None:
    splits = plan(SourceOptions(paths=(_with_log(tmp_path, 40),), min_partitions=4))

    assert [split.range.end for split in splits] == [10, 20, 30, 40]


def test_splits_have_no_more_records_than_is_said(tmp_path: Path) -> None:
    splits = plan(SourceOptions(paths=(_with_log(tmp_path, 9),), max_records=4))

    assert [split.range.end for split in splits] == [4, 8, 9]


def test_hole_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    starting = Bound(is_time=False, default=-2, given={T0: 9})
    options = SourceOptions(paths=(_with_log(tmp_path, 4),), starting=starting)

    with pytest.raises(OffsetOutOfRangeError, match="nothing has offsets 4 to 8 of t-0"):
        plan(options)


def test_topic_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    topics = TopicChoice(names=frozenset({"tt"}))

    with pytest.raises(SettingError, match="no topic 'tt' to read from; did you mean t"):
        plan(SourceOptions(paths=(_with_log(tmp_path, 4),), topics=topics))


@pytest.mark.parametrize("spelling", ("{0}/", "file:{0}", "file://{0}/", "{0}/t-0/", "{0}/t-0/."))
def test_path_may_be_written_in_many_ways(tmp_path: Path, spelling: str) -> None:
    (split,) = plan(SourceOptions(paths=(spelling.format(_with_log(tmp_path, 1)),)))

    assert split.path == f"{tmp_path}/t-0"


def test_segment_that_is_no_log_is_named(tmp_path: Path) -> None:
    path = _with_log(tmp_path, 1)
    for first in (5, 9):
        (tmp_path / "t-0" / name(first)).write_bytes(bytes([7]) * 200)

    with pytest.raises(CorruptMessageError, match=rf"{tmp_path}/t-0/{name(5)}: unknown magic"):
        plan(SourceOptions(paths=(path,)))
