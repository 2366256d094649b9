"""Truncations below the positions of a stream, in directories."""

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.source.source_view import SourceView, open_sources
from cordwood.spark.stream.log_truncations import (
    moved_partitions,
    truncated_below,
    with_leader_epochs,
)
from cordwood.spark.stream.stream_offset import StreamOffset
from cordwood.spark.stream.stream_options import parse_stream_options
from tests.unit.spark.stream.stream_samples import T0, T1, records, write_log


def view_of(folder: Path) -> SourceView:
    """Return the view of a folder of partitions."""
    options = parse_stream_options({"path": str(folder)}).source
    with open_sources(SystemFiles(), options) as sources:
        return sources.view()


def test_log_is_truncated_where_a_later_epoch_begins_below_the_position(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4, epoch=3), records(4, 9, epoch=5))
    view = view_of(tmp_path)

    found = {
        end: truncated_below(StreamOffset({T0: end}, leader_epochs={T0: 3}), view, partitions={T0})
        for end in (4, 5, 8)
    }

    assert found == {4: {}, 5: {T0: 4}, 8: {T0: 7}}


def test_leader_epoch_checkpoint_shows_where_the_later_epoch_begins(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4, epoch=3), records(4, 9, epoch=5))
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n5 4\n")
    done = StreamOffset({T0: 8}, leader_epochs={T0: 3})

    assert truncated_below(done, view_of(tmp_path), partitions={T0}) == {T0: 4}


def test_log_is_not_compared_without_an_epoch_or_under_another_topic_id(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9, epoch=5))
    view = view_of(tmp_path)._replace(topic_ids={"t": "new"})

    without = truncated_below(StreamOffset({T0: 8}), view, partitions={T0})
    other = StreamOffset({T0: 8}, {"t": "old"}, leader_epochs={T0: 3})

    assert (without, truncated_below(other, view, partitions={T0})) == ({}, {})


def test_partition_has_moved_if_its_end_is_not_the_position(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9))
    write_log(tmp_path, records(0, 9), partition=1)

    assert moved_partitions(StreamOffset({T0: 9, T1: 4}), view_of(tmp_path)) == {T1}


def test_end_has_the_epochs_of_its_logs_and_keeps_those_of_missing_ones(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9, epoch=5))
    done = StreamOffset({T0: 4, T1: 2}, leader_epochs={T0: 3, T1: 7})

    end = with_leader_epochs(StreamOffset({T0: 9, T1: 2}), done, view_of(tmp_path))

    assert end == StreamOffset({T0: 9, T1: 2}, leader_epochs={T0: 5, T1: 7})


def test_log_that_has_grown_back_to_the_position_keeps_its_epoch(tmp_path: Path) -> None:
    """Its truncation is noticed in the batch that reads on."""
    write_log(tmp_path, records(0, 4, epoch=3), records(4, 9, epoch=5))
    write_log(tmp_path, records(0, 9, epoch=2), partition=1)
    done = StreamOffset({T0: 9, T1: 4}, leader_epochs={T0: 3, T1: 2})

    end = with_leader_epochs(StreamOffset({T0: 9, T1: 9}), done, view_of(tmp_path))

    assert end.leader_epochs == {T0: 3, T1: 2}
    assert truncated_below(end, view_of(tmp_path), partitions={T0}) == {T0: 8}
