"""An export into a table of Apache Iceberg, through the library pyiceberg: no JVM, and no JAR.

Each commit has ranges and standing in the summary of its snapshot, and the standing in a property
of the table too, which stays when snapshots expire. The standing is that of the current snapshot's
nearest ancestor that has one, so a table that was rolled back goes on from there; without such an
ancestor it is the property's.

pyiceberg commits an append anew, on whatever it finds, when another commit was faster: that would
put offsets in twice. So the table says that nothing is to be tried again, and it is decided here.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cordwood.core.errors import SettingError
from cordwood.core.ports import Files
from cordwood.spark.jobs.audit_pieces import IcebergPiece, TablePiece
from cordwood.spark.jobs.export_files import table_schema
from cordwood.spark.jobs.export_ledger import (
    STANDING,
    Shape,
    Standing,
    empty,
    notes,
    read_standing,
    standing_text,
)
from cordwood.spark.jobs.export_tables import (
    Addition,
    TableAddress,
    missing,
    not_ours,
    nothing_there,
    refuse_parquet,
    until_taken,
)

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_NO_RETRIES: Final = {"commit.retry.num-retries": "0"}
_LOCAL: Final = "file://"


class IcebergTable:
    """A table of a catalog, whose files are on paths that driver and tasks share."""

    is_whole = True

    def __init__(self, address: TableAddress, files: Files) -> None:  # noqa: ARG002  # the library writes
        self.name = str(address.name)
        refuse_parquet(Path(address.path))
        self.catalog = open_catalog(address)

    def writing(self) -> AbstractContextManager[None]:
        """Nothing is left by an interrupted commit but files that no reader sees."""
        return nullcontext()

    def standing(self) -> Standing | None:
        """Return what the current snapshot says."""
        table = self._table()
        return None if table is None else self._standing_of(table)

    def pieces(self) -> list[TablePiece]:
        """Return the files of the current snapshot, each with what was deleted of it."""
        table = self._table()
        if table is None:
            raise nothing_there(self.name)
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

    def folder(self, shape: Shape) -> str:
        """Return the folder for data; the table is made, for it says where that is."""
        location = (self._table() or self._made(shape)).location()
        if "://" in location and not location.startswith(_LOCAL):
            raise SettingError(
                f"{self.name} lies at {location}",
                key="catalog",
                remedy="choose a warehouse on a path that all workers see",
            )
        return str(Path(location.removeprefix(_LOCAL), "data"))

    def commit(self, addition: Addition, shape: Shape) -> Standing:
        """Commit to the table as it is now; begin anew where somebody was faster."""
        from pyiceberg.exceptions import CommitFailedException  # noqa: PLC0415  # an extra

        folder = self.folder(shape)

        def attempt() -> Standing:
            table = self.catalog.load_table(self.name)
            before = self._standing_of(table)
            after = addition.onto(before, shape, table=self.name)
            _commit(table, addition, after, folder=folder)
            return after

        return until_taken(attempt, CommitFailedException, table=self.name)

    def _table(self) -> "Table | None":
        return self.catalog.load_table(self.name) if self.catalog.table_exists(self.name) else None

    def _standing_of(self, table: "Table") -> Standing:
        said = _newest(table) or table.properties.get(STANDING)
        if said is None:
            raise not_ours(self.name)
        return read_standing(said, table=self.name)

    def _made(self, shape: Shape) -> "Table":
        """Return a new table without rows."""
        properties = {STANDING: standing_text(empty(shape)), **_NO_RETRIES}
        self.catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        schema = table_schema(shape.columns)
        with (
            self.catalog.create_table_transaction(
                self.name, schema=schema, properties=properties
            ) as making,
            making.update_spec() as spec,
        ):
            for column in shape.partition_by:
                spec.add_identity(column)
        return self.catalog.load_table(self.name)


def open_catalog(address: TableAddress) -> "Catalog":
    """Return the catalog that a table is in; see `TableAddress`."""
    try:
        from pyiceberg.catalog import load_catalog  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise missing("pyiceberg", error) from error
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


def _commit(table: "Table", addition: Addition, after: Standing, *, folder: str) -> None:
    said = notes(addition.stretches, after)
    with table.transaction() as transaction:
        transaction.set_properties({STANDING: said[STANDING], **_NO_RETRIES})
        transaction.add_files(
            [f"{folder}/{file.path}" for file in addition.files],
            snapshot_properties=said,
            check_duplicate_files=False,
        )


def _newest(table: "Table") -> str | None:
    """Return the standing of the current snapshot, or of its nearest ancestor that has one."""
    snapshot: Snapshot | None = table.current_snapshot()
    while snapshot is not None:
        said = None if snapshot.summary is None else snapshot.summary.get(STANDING)
        if said is not None:
            return str(said)
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
    return None
