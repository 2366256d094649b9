"""Apache Iceberg tables of exports, through the library pyiceberg, without JVM and JAR.

The snapshot summary of each commit has the ranges and the state. The state is read from the nearest
ancestor of the current snapshot that has one, so a table that was rolled back resumes from there.
The state is also a table property, which remains when snapshots expire, but which a rollback does
not change. So two other properties belong to it, and it is used only if the current snapshot
descends from the one that it belongs to:

    cordwood.snapshot   the id of that snapshot: the current one, or the parent of one that is left
    cordwood.evidence   the ranges of the last commit with records: a row of them is in the table

After a conflict, pyiceberg retries an append on top of the other commit, which would duplicate
offsets. The number of retries comes from the properties of the loaded table, which any program and
any catalog can set. So it is set to 0 in the loaded copy, and this module retries.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
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
    unknown_state,
)
from cordwood.spark.jobs.tables.parquet_files import table_schema
from cordwood.spark.jobs.tables.table_ledger import (
    RANGES_KEY,
    STATE_KEY,
    CommitRange,
    TableLayout,
    TableState,
    commit_metadata,
    empty_state,
    format_state,
    parse_ranges,
    parse_state,
)
from cordwood.spark.jobs.tables.table_pieces import IcebergPiece, TablePiece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

NO_RETRIES: Final = {"commit.retry.num-retries": "0"}
#: Files are added without the range of their timestamps.
_NO_TIME_RANGE: Final = {"write.metadata.metrics.column.timestamp": "counts"}
LOCAL: Final = "file://"
_SNAPSHOT_KEY: Final = "cordwood.snapshot"
_EVIDENCE_KEY: Final = "cordwood.evidence"
#: Characters that pyiceberg reads as parts of an address.
_RESERVED: Final = frozenset("%#?")


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
        if "://" in location and not location.startswith(LOCAL):
            raise SettingError(
                f"catalog: {self.name} is at {location}, which is not a local path",
                key="catalog",
                remedy="use a warehouse on a path that all workers share",
            )
        return str(Path(location.removeprefix(LOCAL), "data"))

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
        text = _newest_state(table)
        if text is None:
            text = table.properties.get(STATE_KEY)
            if text is None:
                raise foreign_table(self.name)
            state = parse_state(text, table=self.name)
            if state.exported and not _is_of_this_line(table):
                current = table.current_snapshot()
                raise unknown_state(
                    self.name,
                    "its snapshots from exports have expired, and it may have been rolled back",
                    remedy=f"if an audit against the property {STATE_KEY} is whole, set"
                    f" {_SNAPSHOT_KEY} to {current and current.snapshot_id}; otherwise export into"
                    " another table",
                )
        return parse_state(text, table=self.name)

    def _create(self, layout: TableLayout) -> "Table":
        """Create the table, without rows, unless another export does."""
        from pyiceberg.exceptions import (  # noqa: PLC0415  # an extra
            CommitFailedException,
            TableAlreadyExistsError,
        )

        properties = {STATE_KEY: format_state(empty_state(layout)), **NO_RETRIES}
        self.catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        schema = table_schema(layout.columns)
        try:
            with (
                self.catalog.create_table_transaction(
                    self.name, schema=schema, properties=properties
                ) as creation,
                creation.update_spec() as spec,
            ):
                for column in layout.partition_by:
                    spec.add_identity(column)
        except (CommitFailedException, TableAlreadyExistsError):
            if not self.catalog.table_exists(self.name):
                raise
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
    if _RESERVED.intersection(str(warehouse)):
        raise SettingError(
            f"to: {warehouse} has one of the characters {' '.join(sorted(_RESERVED))}, which an"
            " Iceberg catalog reads as parts of an address",
            key="to",
            remedy="use another folder",
        )
    warehouse.mkdir(parents=True, exist_ok=True)
    return load_catalog(
        "cordwood",
        type="sql",
        uri=f"sqlite:///{warehouse}/catalog.db",
        warehouse=f"{LOCAL}{warehouse}",
    )


def _commit(table: "Table", commit: TableCommit, after: TableState, *, folder: str) -> None:
    metadata = commit_metadata(commit.ranges, after)
    table.metadata.properties.update(NO_RETRIES)
    with table.transaction() as transaction:
        add_files = partial(
            transaction.add_files,
            [f"{folder}/{file.path}" for file in commit.files],
            snapshot_properties=metadata,
            check_duplicate_files=False,
        )
        try:
            add_files()
        except OverflowError:
            # pyiceberg has no date after the year 9999, and has not staged a file yet.
            table.metadata.properties.update(_NO_TIME_RANGE)
            add_files()
        added = transaction.table_metadata.current_snapshot()
        assert added is not None, "add_files has staged it"
        own = {STATE_KEY: metadata[STATE_KEY], _SNAPSHOT_KEY: str(added.snapshot_id)}
        if any(each.records for each in commit.ranges):
            own[_EVIDENCE_KEY] = metadata[RANGES_KEY]
        transaction.set_properties({**own, **NO_RETRIES})


def _newest_state(table: "Table") -> str | None:
    """Return the state of the current snapshot, or of the nearest ancestor that has one."""
    for snapshot in snapshots_of_line(table):
        text = None if snapshot.summary is None else snapshot.summary.get(STATE_KEY)
        if text is not None:
            return str(text)
    return None


def snapshots_of_line(table: "Table") -> "Iterator[Snapshot]":
    """Yield the current snapshot and its ancestors, up to the first one that has expired."""
    snapshot: Snapshot | None = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)


def _is_of_this_line(table: "Table") -> bool:
    """Return whether the state in the properties belongs to the current snapshot."""
    snapshot, known = table.current_snapshot(), table.properties.get(_SNAPSHOT_KEY)
    if known is None or snapshot is None:
        return known is None and snapshot is None
    if any(
        known in (str(each.snapshot_id), str(each.parent_snapshot_id))
        for each in snapshots_of_line(table)
    ):
        return True
    ranges = parse_ranges(table.properties.get(_EVIDENCE_KEY, "{}"), table=".".join(table.name()))
    return any(_has_row(table, each) for each in ranges if each.records)


def _has_row(table: "Table", found: CommitRange) -> bool:
    """Return whether a table has a row of a range."""
    (topic, partition), start, end = found[:3]
    condition = (
        f"topic = '{topic}' and partition = {partition} and offset >= {start} and offset < {end}"
    )
    scan = table.scan(row_filter=condition, selected_fields=("offset",), limit=1)
    return bool(scan.to_arrow().num_rows)
