"""Delta Lake tables of exports, through the library deltalake, without JVM and JAR.

The `commitInfo` of each commit has the ranges and the state after it. The state is computed from
one version, so the commit is valid only as the next version: Delta may not retry it. Each commit of
an export also sets the same application transaction (Delta: `txn`), which Delta compares. A commit
that conflicts is attempted again on the newest version. Further application transactions have the
ends of the partitions.

The state is that of the newest commit of an export. If the table was restored, it is the newest one
up to the restored version. A restore to a time does not name its version: it is the oldest one with
the same files. This needs old log entries, so the table is created with
`delta.enableExpiredLogCleanup` = false.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.spark.jobs.tables.export_table import (
    TableAddress,
    TableCommit,
    commit_with_retry,
    foreign_table,
    missing_library,
    no_table,
    partition_values,
    refuse_parquet,
    unknown_state,
)
from cordwood.spark.jobs.tables.parquet_files import WrittenFile, table_schema
from cordwood.spark.jobs.tables.table_ledger import (
    STATE_KEY,
    TableLayout,
    TableState,
    commit_metadata,
    empty_state,
    parse_state,
)
from cordwood.spark.jobs.tables.table_pieces import ParquetPiece, TablePiece

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable
    from deltalake.transaction import AddAction

#: The operation of a commit that restores an older version.
RESTORE: Final = "RESTORE"
_KEEP_LOG: Final = {"delta.enableExpiredLogCleanup": "false"}
#: The application transaction of every export, and the prefix of those of partitions.
_EXPORT: Final = "cordwood"
_LOG_REMEDY: Final = "use a new folder, and keep delta.enableExpiredLogCleanup=false there"


class DeltaLakeTable:
    """A Delta Lake table in a folder."""

    has_partition_columns = False

    def __init__(self, address: TableAddress, files: Files) -> None:  # noqa: ARG002  # the library writes files
        self.name = address.path
        try:
            import deltalake  # noqa: F401, PLC0415  # an extra
        except ImportError as error:
            raise missing_library("deltalake", error) from error

    def writing(self) -> AbstractContextManager[None]:
        """Return an empty context: an interrupted commit leaves only files that no reader sees."""
        return nullcontext()

    def state(self) -> TableState | None:
        """Return the state in the newest commit of an export."""
        table = self._table()
        if table is None:
            refuse_parquet(Path(self.name))
            return None
        return self._state_of(table)

    def pieces(self) -> list[TablePiece]:
        """Return the files of the newest version."""
        import pyarrow.dataset as ds  # noqa: PLC0415  # pandas comes with it, into tasks too
        from deltalake.exceptions import DeltaProtocolError  # noqa: PLC0415  # an extra

        table = self._table()
        if table is None:
            raise no_table(self.name)
        try:
            found = table.to_pyarrow_dataset()
        except DeltaProtocolError as error:
            raise TableError(
                f"deltalake cannot read it: {error}",
                path=self.name,
                remedy="rewrite the table without these features, or audit a copy",
            ) from error
        return [
            ParquetPiece(
                str(Path(self.name, fragment.path)),
                Path(self.name, fragment.path).stat().st_size,
                ds.get_partition_keys(fragment.partition_expression),
            )
            for fragment in found.get_fragments()
        ]

    def folder(self, layout: TableLayout) -> str:  # noqa: ARG002  # the folder does not depend on it
        """Return the table's own folder."""
        return self.name

    def commit(self, commit: TableCommit, layout: TableLayout) -> TableState:
        """Commit to the current table; retry after a conflict."""
        from deltalake.exceptions import DeltaError  # noqa: PLC0415  # an extra

        def attempt() -> TableState:
            table = self._table()
            before = empty_state(layout) if table is None else self._state_of(table)
            after = commit.apply_to(before, layout, table=self.name)
            self._write(table, commit, after)
            return after

        return commit_with_retry(attempt, DeltaError, table=self.name)

    def _table(self) -> "DeltaTable | None":
        from deltalake import DeltaTable  # noqa: PLC0415  # an extra

        if not DeltaTable.is_deltatable(self.name):
            return None
        return DeltaTable(self.name)

    def _state_of(self, table: "DeltaTable") -> TableState:
        newest = table.history(1)
        if newest and STATE_KEY in newest[0]:
            return parse_state(str(newest[0][STATE_KEY]), table=self.name)
        history = table.history()
        latest = newest_entry(
            history,
            lambda entry: STATE_KEY in entry,
            restored_version=self._restored_version,
        )
        if latest is not None:
            return parse_state(str(latest[STATE_KEY]), table=self.name)
        if table.transaction_version(_EXPORT) is not None or (
            history and history[-1]["version"] > 0
        ):
            raise unknown_state(
                self.name,
                "its log no longer has the commit of an export, if there was one",
                remedy=_LOG_REMEDY,
            )
        raise foreign_table(self.name)

    def _restored_version(self, restore: int) -> int:
        return restored_version(self.name, restore)

    def _write(self, table: "DeltaTable | None", commit: TableCommit, after: TableState) -> None:
        from deltalake import Schema  # noqa: PLC0415  # an extra
        from deltalake.transaction import create_table_with_add_actions  # noqa: PLC0415  # as above

        layout = after.layout
        actions = [self._action(file, layout) for file in commit.files]
        version = 0 if table is None else table.version() + 1
        properties = _properties(commit, after, version=version)
        if table is not None:
            table.create_write_transaction(
                [*actions],
                "append",
                table.schema(),
                partition_by=list(layout.partition_by),
                commit_properties=properties,
            )
            return
        create_table_with_add_actions(
            self.name,
            Schema.from_arrow(table_schema(layout.columns)),
            actions,
            mode="error",
            partition_by=list(layout.partition_by),
            configuration=_KEEP_LOG,
            commit_properties=properties,
        )

    def _action(self, file: WrittenFile, layout: TableLayout) -> "AddAction":
        from deltalake.transaction import AddAction  # noqa: PLC0415  # an extra

        return AddAction(
            path=file.path,
            size=file.size,
            partition_values=partition_values(layout.partition_by, file),
            modification_time=int(Path(self.name, file.path).stat().st_mtime * 1000),
            data_change=True,
            stats=_stats(file),
        )


def _properties(commit: TableCommit, after: TableState, *, version: int) -> "CommitProperties":
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415  # an extra

    return CommitProperties(
        custom_metadata=commit_metadata(commit.ranges, after),
        max_commit_retries=0,
        app_transactions=[
            Transaction(_EXPORT, version),
            *(Transaction(f"{_EXPORT}/{each.partition}", each.end) for each in commit.ranges),
        ],
    )


def newest_entry(
    history: list[dict[str, Any]],
    is_wanted: Callable[[dict[str, Any]], bool],
    *,
    restored_version: Callable[[int], int],
) -> dict[str, Any] | None:
    """Return the newest wanted entry of a history that no restore has taken back.

    The first entry of the history is the newest commit.
    """
    newest: int | None = None
    for entry in history:
        if newest is not None and entry["version"] > newest:
            continue
        if is_wanted(entry):
            return entry
        if entry.get("operation") == RESTORE:
            version = str((entry.get("operationParameters") or {}).get("version"))
            is_number = version.isdecimal()
            newest = int(version) if is_number else restored_version(entry["version"])
    return None


def restored_version(table: str, restore: int) -> int:
    """Return the oldest version with the files of the version that a restore has created."""
    from deltalake import DeltaTable  # noqa: PLC0415  # an extra
    from deltalake.exceptions import DeltaError  # noqa: PLC0415  # as above

    try:
        restored = set(DeltaTable(table, version=restore).file_uris())
        for version in range(restore):
            if set(DeltaTable(table, version=version).file_uris()) == restored:
                return version
    except DeltaError as error:
        raise unknown_state(
            table, f"version {restore} is a restore to a time ({error})", remedy=_LOG_REMEDY
        ) from error
    raise unknown_state(
        table,
        f"no version has the files of version {restore}, a restore to a time",
        remedy="restore the table again, to a version",
    )


def _stats(file: WrittenFile) -> str:
    return json.dumps(
        {
            "numRecords": file.rows,
            "minValues": {each.column: each.least for each in file.value_ranges},
            "maxValues": {each.column: each.most for each in file.value_ranges},
            "nullCount": {each.column: 0 for each in file.value_ranges},
        }
    )
