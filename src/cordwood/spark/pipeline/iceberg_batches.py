"""Micro-batches in an Iceberg table, through pyiceberg.

The snapshot of a commit names the query and the batch. The newest one that an ancestor of the
current snapshot names is in the table; a table that was rolled back has lost the others. An upsert
deletes in a snapshot of its own, which names no batch. Snapshots expire, so three properties of the
table have the batch, the offsets after it and its snapshot, too. A rollback does not change them:
they prove that the batch is in the table only if the current snapshot descends from that snapshot.
Without a proof a batch that is repeated is rejected. Commits are not retried by the library, which
would commit on top of another program's change without a comparison.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from cordwood.spark.jobs.tables.export_table import TableAddress, commit_with_retry
from cordwood.spark.jobs.tables.iceberg_table import (
    LOCAL,
    NO_RETRIES,
    open_catalog,
    snapshots_of_line,
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
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.snapshots import Snapshot


#: The sequence number of a table's first snapshot. A snapshot whose parent has expired has none.
_FIRST_SEQUENCE: Final = 1
#: The snapshot of the newest batch, in the properties.
_SNAPSHOT_KEY: Final = "cordwood.snapshot"


class _Write(Protocol):
    """Adds the changes of a batch to a transaction of a table."""

    def __call__(
        self, table: "Table", transaction: "Transaction", *, facts: dict[str, str]
    ) -> None:
        """Add the changes, with the facts in the summary of their snapshot."""


class IcebergBatches:
    """An Iceberg table in a warehouse."""

    def __init__(self, address: TableAddress) -> None:
        assert address.name is not None, "the definition of the pipeline has checked it"
        self.name = address.name
        self._catalog = open_catalog(address)

    def recover(self) -> None:
        """Do nothing: an interrupted commit leaves only files that no reader sees."""

    def last_batch(self, query: str) -> BatchCommit | None:
        """Return the newest batch in the line of the current snapshot."""
        table = self._table()
        return None if table is None else _last_batch(table, query)

    def folder(self, schema: pa.Schema) -> str:
        """Return the folder of the table's data."""
        table = self._table()
        if table is None:
            self._catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
            table = self._catalog.create_table_if_not_exists(
                self.name, schema=schema, properties=NO_RETRIES
            )
        found = table.schema().as_arrow()
        if _plain_types(found) != _plain_types(schema):
            raise other_columns(self.name, found, wanted=schema)
        folder = Path(table.location().removeprefix(LOCAL), "data")
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def append(
        self, files: Sequence[BatchFile], *, key: BatchKey, facts: Mapping[str, str]
    ) -> None:
        """Commit files on top of the current snapshot."""

        def write(table: "Table", transaction: "Transaction", *, facts: dict[str, str]) -> None:
            folder = f"{table.location()}/data"
            transaction.add_files(
                [f"{folder}/{file.path}" for file in files],
                snapshot_properties=facts,
                check_duplicate_files=False,
            )

        self._commit(write, key, facts)

    def upsert(self, changes: KeyedRows, *, key: BatchKey, facts: Mapping[str, str]) -> None:
        """Delete the rows of all keys, and append the new ones, in one commit."""
        changed = pa.concat_tables(
            [each.select(list(changes.key)) for each in (changes.rows, changes.deleted)]
        )

        def write(table: "Table", transaction: "Transaction", *, facts: dict[str, str]) -> None:
            if table.current_snapshot() is not None and changed.num_rows:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # if no key is in the table
                    transaction.delete(_match(changed))
            transaction.append(changes.rows, snapshot_properties=facts)

        self._commit(write, key, facts)

    def _commit(
        self,
        write: "_Write",
        key: BatchKey,
        facts: Mapping[str, str],
    ) -> None:
        from pyiceberg.exceptions import CommitFailedException  # noqa: PLC0415  # an extra

        own = {**facts, QUERY_KEY: key.query, BATCH_KEY: str(key.batch)}

        def attempt() -> None:
            table = self._catalog.load_table(self.name)
            if is_written(_last_batch(table, key.query), key.batch, table=self.name):
                return
            table.metadata.properties.update(NO_RETRIES)
            with table.transaction() as transaction:
                write(table, transaction, facts=own)
                added = transaction.table_metadata.current_snapshot()
                assert added is not None, "the write has staged it"
                own_properties = {
                    _property(BATCH_KEY, key.query): str(key.batch),
                    _property(_SNAPSHOT_KEY, key.query): str(added.snapshot_id),
                    _property(OFFSETS_KEY, key.query): facts.get(OFFSETS_KEY, ""),
                }
                transaction.set_properties({**own_properties, **NO_RETRIES})

        commit_with_retry(attempt, CommitFailedException, table=self.name)

    def _table(self) -> "Table | None":
        exists = self._catalog.table_exists(self.name)
        return self._catalog.load_table(self.name) if exists else None


def _last_batch(table: "Table", query: str) -> BatchCommit | None:
    line: set[int | None] = set()
    oldest: Snapshot | None = None
    for oldest in snapshots_of_line(table):
        summary = oldest.summary
        if summary is not None and summary.get(QUERY_KEY) == query:
            return BatchCommit(int(str(summary.get(BATCH_KEY))), summary.get(OFFSETS_KEY))
        line |= {oldest.snapshot_id, oldest.parent_snapshot_id}
    has_expired = oldest is not None and oldest.sequence_number != _FIRST_SEQUENCE
    batch, snapshot, offsets = (
        table.properties.get(_property(key, query))
        for key in (BATCH_KEY, _SNAPSHOT_KEY, OFFSETS_KEY)
    )
    if batch is None or not has_expired:
        return None
    is_proven = snapshot is not None and int(snapshot) in line
    return BatchCommit(int(batch), offsets or None, is_proven=is_proven)


def _plain_types(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the columns, without the difference of small and large types."""
    return [(field.name, str(field.type).replace("large_", "")) for field in schema]


def _property(key: str, query: str) -> str:
    return f"{key}.{query}"


def _match(keys: pa.Table) -> "BooleanExpression":
    """Return the condition that a row has one of these keys."""
    from pyiceberg.table.upsert_util import create_match_filter  # noqa: PLC0415  # an extra

    return create_match_filter(keys, keys.column_names)
