"""Views returned by `open_log` and `open_directory`."""

import json
from collections.abc import Iterator
from typing import assert_type

import pytest

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.records.record import Record
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench import partition_view
from cordwood.workbench.partition_view import PartitionOffsets, open_partition, open_partitions
from tests.unit.storage.log_samples import DIRECTORY, filled
from tests.unit.storage.reader_samples import directory, logged
from tests.unit.storage.segment_samples import v2


def written(count: int = 7) -> MemoryFiles:
    place, log = logged()
    filled(log, count)
    return place.files


def test_view_returns_its_offsets() -> None:
    found = open_partition(written(), DIRECTORY, clock=VirtualClock()).offsets()

    assert found == PartitionOffsets(
        path=DIRECTORY,
        partition="t-0",
        log_start=0,
        log_end=7,
        segments=3,
        size=532,
        tail_bytes=0,
    )
    assert "log_start=0, log_end=7" in repr(found)
    assert json.loads(found.to_json())["log_end"] == 7


def test_view_of_a_directory_with_another_name_has_no_partition() -> None:
    files = written()
    files.rename(DIRECTORY, "/d/copy")

    view = open_partition(files, "/d/copy", clock=VirtualClock())

    assert (view.partition, view.offsets().partition) == (None, None)
    assert repr(view) == "PartitionView('/d/copy')"


def test_view_returns_the_records_as_record_batches() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    rows = [row for batch in view.arrow(["offset", "key"]) for row in batch.to_pylist()]

    assert rows == [{"offset": offset, "key": b"key"} for offset in range(7)]


def test_view_returns_no_records_below_a_log_start_inside_a_batch() -> None:
    files = directory(log=v2(0, 3) + v2(4, 7))
    files.create("/d/log-start-offset-checkpoint").append(b"0\n1\nt 0 2\n")

    with open_partition(files, DIRECTORY, clock=VirtualClock()) as view:
        batches = list(view.arrow(["offset"]))

    assert [row for each in batches for row in each.column(0).to_pylist()] == list(range(2, 8))


def test_view_returns_all_columns_of_a_range_by_default() -> None:
    with open_partition(written(), DIRECTORY, clock=VirtualClock()) as view:
        batches = list(view.arrow(start=2, end=6, batch_rows=2))

    assert [batch.column("offset").to_pylist() for batch in batches] == [[2], [3, 4], [5]]
    assert len(batches[0].schema) == 10


def test_view_is_iterable_over_its_records() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    found = [(record.offset, record.key) for record in view]

    assert found == [(offset, b"key") for offset in range(7)]


def test_view_returns_the_records_of_a_range() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    records = assert_type(view.records(start=2, end=5), Iterator[Record])

    assert [record.offset for record in records] == [2, 3, 4]
    with pytest.raises(SettingError, match="isolation"):
        view.records(isolation="committed")


def test_view_returns_one_table_which_may_be_empty() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    table, empty = view.to_table(["offset"], start=2), view.to_table(["key"], start=7)

    assert table.column("offset").to_pylist() == [2, 3, 4, 5, 6]
    assert (empty.column_names, empty.num_rows) == (["key"], 0)


def test_view_names_the_remedy_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_view, "find_spec", lambda name: None)
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    with pytest.raises(SettingError, match=r"pip install pandas, or use to_table\(\)"):
        view.to_pandas()


@pytest.mark.parametrize(
    ("key", "value"), (("isolation", "committed"), ("start", -1), ("end", -2), ("batch_rows", 0))
)
def test_view_rejects_invalid_arguments_before_iteration(key: str, value: object) -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    with pytest.raises(SettingError) as refused:
        view.arrow(**{key: value})  # type: ignore[arg-type]  # wrong on purpose

    assert refused.value.key in {key, "max_rows"}


def test_view_rejects_unknown_columns() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    with pytest.raises(SettingError, match="there is no column 'ofset'; choose from offset"):
        next(view.arrow(["ofset"]))


def test_view_counts_and_verifies() -> None:
    view = open_partition(written(), DIRECTORY, clock=VirtualClock())

    counted, verified = view.stat(deep=True), view.verify()

    assert (counted.total.batches, counted.total.records) == (7, 7)
    assert not verified.is_damaged


@pytest.mark.parametrize(("config", "going"), (({}, 0), ({"retention.ms": "10"}, 3)))
def test_view_explains_retention(config: dict[str, str], going: int) -> None:
    clock = VirtualClock()
    clock.advance(seconds=60)

    told = open_partition(written(), DIRECTORY, clock=clock).explain(config=config)

    assert len(told.segments) == 3
    assert sum(1 for segment in told.segments if segment.goes) == going


def test_view_of_a_deleted_log_is_empty() -> None:
    files = MemoryFiles()
    for path in ("/d", "/d/t-0"):
        files.make_directory(path)
    files.create("/d/t-0/00000000000000000000.log.deleted")

    view = open_partition(files, "/d/t-0", clock=VirtualClock())

    assert view.explain().segments == ()
    assert view.stat().total.batches == 0
    assert not view.verify().is_damaged


def test_views_are_those_of_a_log_directory() -> None:
    views = list(open_partitions(written(), "/d", clock=VirtualClock()))

    assert [(str(view.partition), view.offsets().log_end) for view in views] == [("t-0", 7)]


def test_invalid_path_is_rejected_before_iteration() -> None:
    with pytest.raises(LogDirectoryError, match="is the directory of one partition"):
        open_partitions(written(), DIRECTORY, clock=VirtualClock())
