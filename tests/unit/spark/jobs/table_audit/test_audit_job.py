"""Listing of a table for an audit; tests/spark runs audits."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from cordwood.core.errors import TableError
from cordwood.spark.jobs.table_audit.audit_job import (
    MAX_LISTINGS,
    compared_columns,
    list_table,
)
from cordwood.spark.jobs.tables.export_table import TableCommit, foreign_table
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets, TableLayout, TableState
from cordwood.spark.jobs.tables.table_pieces import ParquetPiece, TablePiece
from tests.unit.spark.jobs.export_samples import ORDERS, layout

pytestmark = pytest.mark.spark

STATE = TableState(layout=layout(), exported={})


class _BusyTable:
    """A table whose next listings are each overtaken by a commit."""

    name = "lake"
    has_partition_columns = False

    def __init__(self, commits: int, *, fails: bool = False) -> None:
        self._left = commits
        self._ends = 0
        self._fails = fails

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def state(self) -> TableState | None:
        return replace(STATE, exported={ORDERS: ExportedOffsets(0, self._ends, self._ends)})

    def pieces(self) -> list[TablePiece]:
        found: list[TablePiece] = [ParquetPiece(f"{self._ends}", 1, {})]
        if self._left:
            self._left -= 1
            self._ends += 1
            if self._fails:
                raise TableError("is half a commit", path=self.name, remedy="retry")
        return found

    def folder(self, layout: TableLayout) -> str:
        return f"{layout}"

    def commit(self, commit: TableCommit, layout: TableLayout) -> TableState:
        raise NotImplementedError(commit, layout)


class _ForeignTable(_BusyTable):
    """A table of another program."""

    def state(self) -> TableState | None:
        raise foreign_table(self.name)


@pytest.mark.parametrize("fails", (False, True))
def test_state_and_files_are_of_one_version(*, fails: bool) -> None:
    state, pieces = list_table(_BusyTable(3, fails=fails))

    assert state is not None
    assert state.exported[ORDERS].end == 3
    assert [piece.name for piece in pieces] == ["3"]


def test_table_that_changes_all_the_time_is_rejected() -> None:
    with pytest.raises(TableError, match="exports commit faster than its files can be listed"):
        list_table(_BusyTable(MAX_LISTINGS))


def test_error_of_a_table_that_does_not_change_is_raised() -> None:
    class Broken(_BusyTable):
        def pieces(self) -> list[TablePiece]:
            raise TableError("is damaged", path=self.name, remedy="repair it")

    with pytest.raises(TableError, match="is damaged"):
        list_table(Broken(0))


def test_table_of_another_program_has_no_state() -> None:
    state, pieces = list_table(_ForeignTable(0))

    assert state is None
    assert len(pieces) == 1


def test_deep_audit_compares_the_columns_that_partition_a_table() -> None:
    found = TableLayout(columns=("topic", "value", "offset"), partition_by=("topic", "date"))

    assert compared_columns(found) == ("value", "date")
