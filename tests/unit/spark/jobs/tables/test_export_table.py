"""Commit retries and table addresses, for all formats."""

import pytest

from cordwood.core.errors import SettingError, TableError
from cordwood.spark.jobs.tables.export_table import (
    MAX_COMMIT_ATTEMPTS,
    TableAddress,
    TableCommit,
    check_address,
    commit_with_retry,
    foreign_table,
    missing_library,
    partition_values,
)
from cordwood.spark.jobs.tables.parquet_files import WrittenFile
from cordwood.spark.jobs.tables.table_ledger import (
    CommitRange,
    TableLayout,
    TableState,
    empty_state,
)
from tests.unit.spark.jobs.export_samples import ORDERS, layout

STANDING = empty_state(TableLayout(columns=("offset",)))


class _Table:
    """A table whose first commits conflict."""

    def __init__(self, refusals: int) -> None:
        self.left = refusals

    def commit(self) -> TableState:
        if not self.left:
            return STANDING
        self.left -= 1
        raise BlockingIOError("conflict")


def test_commit_is_retried_after_a_conflict() -> None:
    assert (
        commit_with_retry(_Table(MAX_COMMIT_ATTEMPTS - 1).commit, BlockingIOError, table="lake")
        is STANDING
    )


def test_commit_fails_after_the_last_attempt() -> None:
    with pytest.raises(TableError, match="lake: commit failed: conflict"):
        commit_with_retry(_Table(MAX_COMMIT_ATTEMPTS).commit, BlockingIOError, table="lake")


def test_error_other_than_a_conflict_is_not_retried() -> None:
    with pytest.raises(BlockingIOError):
        commit_with_retry(_Table(1).commit, FileExistsError, table="lake")


def test_address_of_an_unknown_format_is_rejected() -> None:
    with pytest.raises(SettingError, match="unknown format 'hudi'"):
        check_address(TableAddress(path="lake", format="hudi"))


def test_address_of_iceberg_needs_a_name() -> None:
    check_address(TableAddress(path="lake", format="iceberg", name="logs.orders"))

    with pytest.raises(SettingError, match="set table, or --table, to NAMESPACE"):
        check_address(TableAddress(path="lake", format="iceberg"))


def test_missing_library_is_named_with_its_command() -> None:
    error = missing_library("deltalake", ImportError("No module named 'deltalake'"))

    assert "format: the library deltalake cannot be imported" in str(error)
    assert "pip install 'deltalake>=" in str(error)


def test_table_of_another_program_is_named() -> None:
    assert str(foreign_table("lake")).startswith(
        "lake: already exists, but no export has created it"
    )


def test_partition_values_have_their_names() -> None:
    file = WrittenFile("a.parquet", 1, 1, ("orders", "0"), ())

    assert partition_values(("topic", "partition"), file) == {"topic": "orders", "partition": "0"}


def test_commit_to_a_table_that_has_lost_the_partition_is_rejected() -> None:
    added = TableCommit((), (CommitRange(ORDERS, 5, 9),), continued=frozenset({ORDERS}))

    with pytest.raises(
        TableError, match="orders-0 has left the table since the export was planned"
    ):
        added.apply_to(empty_state(layout()), layout(), table="lake")
