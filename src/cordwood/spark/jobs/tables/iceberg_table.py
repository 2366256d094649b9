"""Apache Iceberg tables of exports, through the library pyiceberg, without JVM and JAR.

The snapshot summary of each commit has the ranges and the state. The state is also a table
property, which remains when snapshots expire. The state is read from the nearest ancestor of the
current snapshot that has one, so a table that was rolled back resumes from there. Without such an
ancestor it is read from the property.

After a conflict, pyiceberg retries an append on top of the other commit, which would duplicate
offsets. So the table has `commit.retry.num-retries` = 0, and this module retries.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cordwood.core.errors import SettingError
from cordwood.core.ports import Files
from cordwood.spark.jobs.tables.export_table import (
    TableAddress,
    TableCommit,
    commit_with_retry,
    foreign_table,
    missing_library,
    no_table,
    refuse_parquet,
)
from cordwood.spark.jobs.tables.parquet_files import table_schema
from cordwood.spark.jobs.tables.table_ledger import (
    STATE_KEY,
    TableLayout,
    TableState,
    commit_metadata,
    empty_state,
    format_state,
    parse_state,
)
from cordwood.spark.jobs.tables.table_pieces import IcebergPiece, TablePiece

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_NO_RETRIES: Final = {"commit.retry.num-retries": "0"}
_LOCAL: Final = "file://"


class IcebergTable:
    """An Iceberg table of a catalog, with files on paths that driver and tasks share."""

    has_partition_columns = True

    def __init__(self, address: TableAddress, files: Files) -> None:  # noqa: ARG002  # the library writes files
        self.name = str(address.name)
        refuse_parquet(Path(address.path))
        self.catalog = open_catalog(address)

    def writing(self) -> AbstractContextManager[None]:
        """Return an empty context: an interrupted commit leaves only files that no reader sees."""
        return nullcontext()

    def state(self) -> TableState | None:
        """Return the state of the current snapshot."""
        table = self._table()
        return None if table is None else self._state_of(table)

    def pieces(self) -> list[TablePiece]:
        """Return the files of the current snapshot, with their delete files."""
        table = self._table()
        if table is None:
            raise no_table(self.name)
        return [
            IcebergPiece(
                task.file.file_path,
                task.file.file_size_in_bytes,
                task,
                table.metadata,
                table.io.properties,
            )
            for task in table.scan().plan_files()
        ]

    def folder(self, layout: TableLayout) -> str:
        """Return the data folder; create the table, which has its location."""
        location = (self._table() or self._create(layout)).location()
        if "://" in location and not location.startswith(_LOCAL):
            raise SettingError(
                f"catalog: {self.name} is at {location}, which is not a local path",
                key="catalog",
                remedy="use a warehouse on a path that all workers share",
            )
        return str(Path(location.removeprefix(_LOCAL), "data"))

    def commit(self, commit: TableCommit, layout: TableLayout) -> TableState:
        """Commit to the current table; retry after a conflict."""
        from pyiceberg.exceptions import CommitFailedException  # noqa: PLC0415  # an extra

        folder = self.folder(layout)

        def attempt() -> TableState:
            table = self.catalog.load_table(self.name)
            before = self._state_of(table)
            after = commit.apply_to(before, layout, table=self.name)
            _commit(table, commit, after, folder=folder)
            return after

        return commit_with_retry(attempt, CommitFailedException, table=self.name)

    def _table(self) -> "Table | None":
        return self.catalog.load_table(self.name) if self.catalog.table_exists(self.name) else None

    def _state_of(self, table: "Table") -> TableState:
        text = _newest_state(table) or table.properties.get(STATE_KEY)
        if text is None:
            raise foreign_table(self.name)
        return parse_state(text, table=self.name)

    def _create(self, layout: TableLayout) -> "Table":
        """Create the table, without rows."""
        properties = {STATE_KEY: format_state(empty_state(layout)), **_NO_RETRIES}
        self.catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        schema = table_schema(layout.columns)
        with (
            self.catalog.create_table_transaction(
                self.name, schema=schema, properties=properties
            ) as creation,
            creation.update_spec() as spec,
        ):
            for column in layout.partition_by:
                spec.add_identity(column)
        return self.catalog.load_table(self.name)


def open_catalog(address: TableAddress) -> "Catalog":
    """Return the catalog of a table; see `TableAddress`."""
    try:
        from pyiceberg.catalog import load_catalog  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise missing_library("pyiceberg", error) from error
    if address.catalog:
        return load_catalog("cordwood", **address.catalog)
    warehouse = Path(address.path).absolute()
    warehouse.mkdir(parents=True, exist_ok=True)
    return load_catalog(
        "cordwood",
        type="sql",
        uri=f"sqlite:///{warehouse}/catalog.db",
        warehouse=f"{_LOCAL}{warehouse}",
    )


def _commit(table: "Table", commit: TableCommit, after: TableState, *, folder: str) -> None:
    metadata = commit_metadata(commit.ranges, after)
    with table.transaction() as transaction:
        transaction.set_properties({STATE_KEY: metadata[STATE_KEY], **_NO_RETRIES})
        transaction.add_files(
            [f"{folder}/{file.path}" for file in commit.files],
            snapshot_properties=metadata,
            check_duplicate_files=False,
        )


def _newest_state(table: "Table") -> str | None:
    """Return the state of the current snapshot, or of the nearest ancestor that has one."""
    snapshot: Snapshot | None = table.current_snapshot()
    while snapshot is not None:
        text = None if snapshot.summary is None else snapshot.summary.get(STATE_KEY)
        if text is not None:
            return str(text)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return None
