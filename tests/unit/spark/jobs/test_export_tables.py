"""What all formats of tables have in common."""

import pytest

from cordwood.core.errors import SettingError, TableError
from cordwood.spark.jobs.export_files import WrittenFile
from cordwood.spark.jobs.export_ledger import Shape, Standing, empty
from cordwood.spark.jobs.export_tables import (
    MOST_TRIES,
    TableAddress,
    check_address,
    missing,
    not_ours,
    partition_values,
    until_taken,
)

STANDING = empty(Shape(columns=("offset",)))


class _Table:
    """Refuses so many commits."""

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    def commit(self) -> Standing:
        if not self.left:
            return STANDING
        self.left -= 1
        raise BlockingIOError("somebody was faster")


def test_commit_is_tried_again_while_somebody_is_faster() -> None:
    assert until_taken(_Table(MOST_TRIES - 1).commit, BlockingIOError, table="lake") is STANDING


def test_commit_is_given_up_some_time() -> None:
    with pytest.raises(TableError, match="lake: takes no commit: somebody was faster"):
        until_taken(_Table(MOST_TRIES).commit, BlockingIOError, table="lake")


def test_error_that_is_no_conflict_is_not_tried_again() -> None:
    with pytest.raises(BlockingIOError):
        until_taken(_Table(1).commit, FileExistsError, table="lake")


def test_address_of_an_unknown_format_is_refused() -> None:
    with pytest.raises(SettingError, match="there is no format 'hudi'"):
        check_address(TableAddress(path="lake", format="hudi"))


def test_address_of_iceberg_needs_a_name() -> None:
    check_address(TableAddress(path="lake", format="iceberg", name="logs.orders"))

    with pytest.raises(SettingError, match="give table="):
        check_address(TableAddress(path="lake", format="iceberg"))


def test_library_that_is_missing_is_told_with_the_extra() -> None:
    error = missing("deltalake", ImportError("No module named 'deltalake'"))

    assert "the format needs deltalake" in str(error)
    assert "install cordwood[spark]" in str(error)


def test_what_no_export_has_made_is_told_so() -> None:
    assert str(not_ours("lake")).startswith("lake: is there, and no export has made it")


def test_values_of_a_place_go_with_their_names() -> None:
    file = WrittenFile("a.parquet", 1, 1, ("orders", "0"), ())

    assert partition_values(("topic", "partition"), file) == {"topic": "orders", "partition": "0"}
