"""An export into a table of Delta Lake, through the library deltalake: no JVM, and no JAR.

Each commit has ranges and standing in its `commitInfo`, and sets for each partition the number of a
transaction of an application to the partition's end. Delta lets no commit pass if one since its
snapshot has set the same: of two exports at a time one is refused, while commits of others pass.

The standing is that of the newest commit of an export, back from there to where the table was
restored to, if it was. So the log of the table is not to be cleaned: the table is made to keep it.
"""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.spark.jobs.audit_pieces import ParquetPiece, TablePiece
from cordwood.spark.jobs.export_files import WrittenFile, table_schema
from cordwood.spark.jobs.export_ledger import (
    STANDING,
    Shape,
    Standing,
    empty,
    notes,
    read_standing,
)
from cordwood.spark.jobs.export_tables import (
    Addition,
    TableAddress,
    missing,
    not_ours,
    nothing_there,
    partition_values,
    refuse_parquet,
    until_taken,
)

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

_KEPT: Final = {"delta.enableExpiredLogCleanup": "false"}


class DeltaLakeTable:
    """A table of Delta Lake, in a folder."""

    is_whole = False

    def __init__(self, address: TableAddress, files: Files) -> None:  # noqa: ARG002  # the library writes
        self.name = address.path
        try:
            import deltalake  # noqa: F401, PLC0415  # an extra
        except ImportError as error:
            raise missing("deltalake", error) from error

    def writing(self) -> AbstractContextManager[None]:
        """Nothing is left by an interrupted commit but files that no reader sees."""
        return nullcontext()

    def standing(self) -> Standing | None:
        """Return what the newest commit of an export says."""
        table = self._table()
        if table is None:
            refuse_parquet(Path(self.name))
            return None
        return self._standing_of(table)

    def pieces(self) -> list[TablePiece]:
        """Return the files of the newest version."""
        import pyarrow.dataset as ds  # noqa: PLC0415  # pandas comes with it, into tasks too
        from deltalake.exceptions import DeltaProtocolError  # noqa: PLC0415  # an extra

        table = self._table()
        if table is None:
            raise nothing_there(self.name)
        try:
            found = table.to_pyarrow_dataset()
        except DeltaProtocolError as error:
            raise TableError(
                f"cannot be read by deltalake: {error}",
                path=self.name,
                remedy="rewrite it without these features, or audit a copy of it",
            ) from error
        return [
            ParquetPiece(
                str(Path(self.name, fragment.path)),
                Path(self.name, fragment.path).stat().st_size,
                ds.get_partition_keys(fragment.partition_expression),
            )
            for fragment in found.get_fragments()
        ]

    def folder(self, shape: Shape) -> str:  # noqa: ARG002  # a folder is the same for all
        """Return the table's own folder."""
        return self.name

    def commit(self, addition: Addition, shape: Shape) -> Standing:
        """Commit to the table as it is now; begin anew where somebody was faster."""
        from deltalake.exceptions import DeltaError  # noqa: PLC0415  # an extra

        def attempt() -> Standing:
            table = self._table()
            before = empty(shape) if table is None else self._standing_of(table)
            after = addition.onto(before, shape, table=self.name)
            self._write(table, addition, after)
            return after

        return until_taken(attempt, DeltaError, table=self.name)

    def _table(self) -> "DeltaTable | None":
        from deltalake import DeltaTable  # noqa: PLC0415  # an extra

        if not DeltaTable.is_deltatable(self.name):
            return None
        return DeltaTable(self.name)

    def _standing_of(self, table: "DeltaTable") -> Standing:
        latest = _said(table.history(1)) or _said(table.history())
        if latest is None:
            raise not_ours(self.name)
        return read_standing(latest, table=self.name)

    def _write(self, table: "DeltaTable | None", addition: Addition, after: Standing) -> None:
        from deltalake import Schema  # noqa: PLC0415  # an extra
        from deltalake.transaction import create_table_with_add_actions  # noqa: PLC0415  # as above

        shape = after.shape
        actions = [self._action(file, shape) for file in addition.files]
        properties = _properties(addition, after)
        if table is not None:
            table.create_write_transaction(
                [*actions],
                "append",
                table.schema(),
                partition_by=list(shape.partition_by),
                commit_properties=properties,
            )
            return
        create_table_with_add_actions(
            self.name,
            Schema.from_arrow(table_schema(shape.columns)),
            actions,
            mode="error",
            partition_by=list(shape.partition_by),
            configuration=_KEPT,
            commit_properties=properties,
        )

    def _action(self, file: WrittenFile, shape: Shape) -> "AddAction":
        from deltalake.transaction import AddAction  # noqa: PLC0415  # an extra

        return AddAction(
            path=file.path,
            size=file.size,
            partition_values=partition_values(shape.partition_by, file),
            modification_time=int(Path(self.name, file.path).stat().st_mtime * 1000),
            data_change=True,
            stats=_stats(file),
        )


def _properties(addition: Addition, after: Standing) -> "CommitProperties":
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415  # an extra

    return CommitProperties(
        custom_metadata=notes(addition.stretches, after),
        app_transactions=[
            Transaction(f"cordwood/{each.partition}", each.end) for each in addition.stretches
        ],
    )


def _said(history: list[dict[str, Any]]) -> str | None:
    """Return the newest standing in a history, which begins with its newest commit."""
    newest: int | None = None
    for commit in history:
        if newest is not None and commit["version"] > newest:
            continue
        if STANDING in commit:
            return str(commit[STANDING])
        if commit.get("operation") == "RESTORE":
            newest = int(commit["operationParameters"]["version"])
    return None


def _stats(file: WrittenFile) -> str:
    return json.dumps(
        {
            "numRecords": file.rows,
            "minValues": {each.column: each.least for each in file.value_ranges},
            "maxValues": {each.column: each.most for each in file.value_ranges},
            "nullCount": {each.column: 0 for each in file.value_ranges},
        }
    )
