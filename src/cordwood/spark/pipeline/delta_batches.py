"""Micro-batches in a Delta Lake table, through the library deltalake.

The batch is an application transaction of the commit (Delta: `txn`), and the commit's metadata name
it. Delta does not refuse a transaction that is there, so the table is compared before each commit,
and the commit is not retried: it fails if another program has committed since. Then the table is
compared again. A restore takes the rows of a batch back, but not its transaction: then the metadata
of the commits up to the restored version decide.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cordwood.core.errors import TableError
from cordwood.spark.jobs.tables.delta_table import RESTORE, newest_entry, restored_version
from cordwood.spark.jobs.tables.export_table import (
    TableAddress,
    commit_with_retry,
    missing_library,
    no_table,
    refuse_parquet,
)
from cordwood.spark.pipeline.batch_files import BatchFile
from cordwood.spark.pipeline.batch_table import (
    BATCH_KEY,
    OFFSETS_KEY,
    QUERY_KEY,
    BatchCommit,
    BatchKey,
    KeyedRows,
    is_written,
    other_columns,
)

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

    def recover(self) -> None:
        """Do nothing: an interrupted commit leaves only files that no reader sees."""

    def last_batch(self, query: str) -> BatchCommit | None:
        """Return the newest batch of a query in the newest version."""
        table = self._table()
        return None if table is None else self._last_batch(table, query)

    def _last_batch(self, table: "DeltaTable", query: str) -> BatchCommit | None:
        known = table.transaction_version(query)
        if known is None:
            return None
        newest = table.history(1)
        if newest and newest[0].get(QUERY_KEY) == query:
            return _batch_of(newest[0])
        history = table.history()
        found = newest_entry(
            history,
            lambda entry: entry.get(QUERY_KEY) == query,
            restored_version=partial(restored_version, self.name),
        )
        if found is not None:
            return _batch_of(found)
        is_restored = any(entry.get("operation") == RESTORE for entry in history)
        if is_restored and history[-1]["version"] == 0:
            return None
        return BatchCommit(known, is_proven=not is_restored)  # the log no longer has its commit

    def folder(self, schema: pa.Schema) -> str:
        """Return the table's own folder."""
        from deltalake import DeltaTable, Schema  # noqa: PLC0415  # an extra

        table = self._table()
        if table is None:
            refuse_parquet(Path(self.name))
            table = DeltaTable.create(self.name, Schema.from_arrow(schema), mode="ignore")
        if table.metadata().partition_columns:
            raise TableError(
                "is partitioned, and batches are not",
                path=self.name,
                remedy="use a new table, or one without partitions",
            )
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

        def attempt() -> None:
            table = self._table()
            if table is None:
                raise no_table(self.name)
            if not is_written(self._last_batch(table, key.query), key.batch, table=self.name):
                write(table, _properties(key, facts))

        commit_with_retry(attempt, CommitFailedError, table=self.name)

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


def _batch_of(entry: Mapping[str, Any]) -> BatchCommit:
    """Return the batch that an entry of the history names."""
    return BatchCommit(int(entry[BATCH_KEY]), entry.get(OFFSETS_KEY))


def _properties(key: BatchKey, facts: Mapping[str, str]) -> "CommitProperties":
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415  # an extra

    return CommitProperties(
        custom_metadata={**facts, QUERY_KEY: key.query, BATCH_KEY: str(key.batch)},
        max_commit_retries=0,
        app_transactions=[Transaction(app_id=key.query, version=key.batch)],
    )
