"""Micro-batches in a Delta Lake table, through the library deltalake.

The batch is an application transaction of the commit (Delta: `txn`). Delta does not refuse one that
is there, so the table is compared before each commit, and the commit is not retried: it fails if
another program has committed since. Then the table is compared again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from cordwood.core.errors import TableError
from cordwood.spark.jobs.tables.export_table import (
    MAX_COMMIT_ATTEMPTS,
    TableAddress,
    missing_library,
    no_table,
    refuse_parquet,
)
from cordwood.spark.pipeline.batch_files import BatchFile
from cordwood.spark.pipeline.batch_table import BatchKey, KeyedRows

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

_ROWS: Final = "changed"
_TABLE: Final = "kept"
#: The column of the merged rows that marks deleted keys.
_DELETED: Final = "cordwood_is_deleted"


class DeltaBatches:
    """A Delta Lake table in a folder."""

    def __init__(self, address: TableAddress) -> None:
        self.name = address.path
        try:
            import deltalake  # noqa: F401, PLC0415  # an extra
        except ImportError as error:
            raise missing_library("deltalake", error) from error

    def last_batch(self, query: str) -> int | None:
        """Return the application transaction of the query."""
        table = self._table()
        return None if table is None else table.transaction_version(query)

    def folder(self, schema: pa.Schema) -> str:
        """Return the table's own folder."""
        from deltalake import DeltaTable, Schema  # noqa: PLC0415  # an extra

        table = self._table()
        if table is None:
            refuse_parquet(Path(self.name))
            table = DeltaTable.create(self.name, Schema.from_arrow(schema), mode="ignore")
        if table.schema() != Schema.from_arrow(schema):
            raise other_columns(self.name, pa.schema(table.schema().to_arrow()), wanted=schema)
        return self.name

    def append(
        self, files: Sequence[BatchFile], *, key: BatchKey, facts: Mapping[str, str]
    ) -> None:
        """Commit files to the current version."""

        def write(table: "DeltaTable", properties: "CommitProperties") -> None:
            actions = [self._action(file) for file in files]
            table.create_write_transaction(
                [*actions], "append", table.schema(), commit_properties=properties
            )

        self._commit(write, key, facts)

    def upsert(self, changes: KeyedRows, *, key: BatchKey, facts: Mapping[str, str]) -> None:
        """Merge rows into the current version."""
        mark = pa.array([True] * changes.deleted.num_rows, pa.bool_())
        kept = pa.array([False] * changes.rows.num_rows, pa.bool_())
        source = pa.concat_tables(
            [
                changes.rows.append_column(_DELETED, kept),
                changes.deleted.append_column(_DELETED, mark),
            ]
        )

        def write(table: "DeltaTable", properties: "CommitProperties") -> None:
            same = " AND ".join(f"{_TABLE}.`{name}` = {_ROWS}.`{name}`" for name in changes.key)
            values = {f"`{name}`": f"{_ROWS}.`{name}`" for name in changes.rows.schema.names}
            merge = table.merge(
                source, same, source_alias=_ROWS, target_alias=_TABLE, commit_properties=properties
            )
            merge = merge.when_matched_delete(f"{_ROWS}.{_DELETED}")
            merge = merge.when_matched_update(values, f"NOT {_ROWS}.{_DELETED}")
            merge.when_not_matched_insert(values, f"NOT {_ROWS}.{_DELETED}").execute()

        self._commit(write, key, facts)

    def _commit(
        self,
        write: "Callable[[DeltaTable, CommitProperties], None]",
        key: BatchKey,
        facts: Mapping[str, str],
    ) -> None:
        from deltalake.exceptions import CommitFailedError  # noqa: PLC0415  # an extra

        for attempt in range(1, MAX_COMMIT_ATTEMPTS + 1):
            table = self._table()
            if table is None:
                raise no_table(self.name)
            last = table.transaction_version(key.query)
            if last is not None and last >= key.batch:
                return
            try:
                write(table, _properties(key, facts))
            except CommitFailedError as error:
                if attempt == MAX_COMMIT_ATTEMPTS:
                    raise TableError(
                        f"commit failed: {error}",
                        path=self.name,
                        remedy="retry when no other program writes",
                    ) from error
            else:
                return

    def _action(self, file: BatchFile) -> "AddAction":
        from deltalake.transaction import AddAction  # noqa: PLC0415  # an extra

        return AddAction(
            path=file.path,
            size=file.size,
            partition_values={},
            modification_time=int(Path(self.name, file.path).stat().st_mtime * 1000),
            data_change=True,
            stats=json.dumps({"numRecords": file.rows}),
        )

    def _table(self) -> "DeltaTable | None":
        from deltalake import DeltaTable  # noqa: PLC0415  # an extra

        return DeltaTable(self.name) if DeltaTable.is_deltatable(self.name) else None


def other_columns(table: str, found: pa.Schema, *, wanted: pa.Schema) -> TableError:
    """Return the error of a table that has other columns than the rows."""
    return TableError(
        f"has the columns {_columns(found)}, and the rows have {_columns(wanted)}",
        path=table,
        remedy="add a transform that selects the columns of the table, or use a new table",
    )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _properties(key: BatchKey, facts: Mapping[str, str]) -> "CommitProperties":
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415  # an extra

    return CommitProperties(
        custom_metadata=dict(facts),
        max_commit_retries=0,
        app_transactions=[Transaction(app_id=key.query, version=key.batch)],
    )
