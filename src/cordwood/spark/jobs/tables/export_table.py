"""The port of an export: a table that files are committed to. Each format has its own module.

folder for files ──► tasks write files ──► commit, with ranges and state ──► readers see the rows
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

from cordwood.core.errors import SettingError, TableError
from cordwood.core.installation import install_command
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.tables.parquet_files import WrittenFile
from cordwood.spark.jobs.tables.table_ledger import (
    NO_EPOCHS,
    CommitRange,
    TableLayout,
    TableState,
    add_leader_epochs,
    apply_commit,
)
from cordwood.spark.jobs.tables.table_pieces import TablePiece
from cordwood.spark.source.coverage import NO_IDS

PARQUET: Final = "parquet"
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
#: In a folder of Parquet files: the commits and the staged files. Readers ignore it.
METADATA_FOLDER: Final = "_cordwood"
#: Attempts of a commit that conflicts with other commits.
MAX_COMMIT_ATTEMPTS: Final = 10

FORMATS: Final = (PARQUET, DELTA, ICEBERG)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """The address of a table: a folder that driver and tasks share.

    For Iceberg, `path` is the warehouse and `name` the table. `catalog` has the properties of the
    Iceberg catalog; by default the catalog is an SQLite file in the warehouse.
    """

    path: str
    format: str = PARQUET
    name: str | None = None
    catalog: Mapping[str, str] = field(default_factory=dict)


class TableCommit(NamedTuple):
    """The files and offset ranges that one commit adds.

    The table had the `continued` partitions when the export was planned.
    """

    files: tuple[WrittenFile, ...]
    ranges: tuple[CommitRange, ...]
    topic_ids: Mapping[str, str] = NO_IDS
    leader_epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    continued: frozenset[TopicPartition] = frozenset()

    def apply_to(self, before: TableState, layout: TableLayout, *, table: str) -> TableState:
        """Return the state of the table after this commit; see `apply_commit` for its errors."""
        for partition in sorted(self.continued - before.exported.keys()):
            raise TableError(
                f"{partition} has left the table since the export was planned",
                path=table,
                remedy="run the export again",
            )
        after = apply_commit(
            before, self.ranges, layout=layout, table=table, topic_ids=self.topic_ids
        )
        return add_leader_epochs(after, self.leader_epochs)


class ExportTable(Protocol):
    """The table of an export. One thread uses it, inside the context of `writing`."""

    @property
    def name(self) -> str:
        """The name in errors."""

    @property
    def has_partition_columns(self) -> bool:
        """Whether the files contain the columns that the table is partitioned by."""

    def writing(self) -> AbstractContextManager[None]:
        """Return a context for commits; it first finishes or undoes an interrupted commit."""

    def state(self) -> TableState | None:
        """Return the state of the newest commit; None if the table does not exist.

        Raise ForeignTableError if no export has created the table.
        """

    def pieces(self) -> list[TablePiece]:
        """Return the files that readers see now; any program may have written them.

        Raise TableError if the table does not exist or cannot be read.
        """

    def folder(self, layout: TableLayout) -> str:
        """Return the folder for files of tasks; this may create the table."""

    def commit(self, commit: TableCommit, layout: TableLayout) -> TableState:
        """Add files and ranges atomically, and return the state after it.

        A crash leaves all of the commit or none of it. Raise TableError, and add nothing, if the
        current table would then have an offset twice, lack one, or mix two topics: see
        `apply_commit`.
        """


def check_address(address: TableAddress) -> None:
    """Reject an invalid table address."""
    if address.format not in FORMATS:
        raise SettingError(
            f"format: unknown format {address.format!r}",
            key="format",
            remedy=f"use one of {', '.join(FORMATS)}",
        )
    if address.format == ICEBERG:
        _check_name(address.name)
    elif address.name is not None:
        raise SettingError(
            f"table: a table of the format {address.format} has a path and no name",
            key="table",
            remedy="remove it, or set format to iceberg",
        )


def _check_name(name: str | None) -> None:
    """Reject the name of an Iceberg table that lacks its namespace."""
    *namespace, table = (name or "").split(".")
    if not (namespace and all(namespace) and table):
        found = "it is not set" if name is None else f"found {name!r}"
        raise SettingError(
            f"table: Iceberg needs NAMESPACE.NAME ({found})",
            key="table",
            remedy="set table, or --table, to NAMESPACE.NAME",
        )


def missing_library(library: str, error: ImportError) -> SettingError:
    """Return the error for a format whose library is not installed."""
    return SettingError(
        f"format: the library {library} cannot be imported ({error})",
        key="format",
        remedy=f"{install_command(library)} on the driver and the workers",
    )


class ForeignTableError(TableError):
    """The table exists, but no export has created it, or its state is unknown."""


def foreign_table(table: str) -> ForeignTableError:
    """Return the error for a table that no export has created."""
    return ForeignTableError(
        "already exists, but no export has created it",
        path=table,
        remedy="use a new folder or table name",
    )


def unknown_state(table: str, problem: str, *, remedy: str) -> ForeignTableError:
    """Return the error for a table of an export whose current state cannot be determined."""
    return ForeignTableError(
        f"cannot determine which offsets it has: {problem}", path=table, remedy=remedy
    )


def refuse_parquet(folder: Path) -> None:
    """Reject a folder with a Parquet table of an export, whose readers would see all files."""
    if (folder / METADATA_FOLDER).exists():
        raise TableError(
            "is a Parquet table of an export",
            path=str(folder),
            remedy=f"use format={PARQUET}, or a new folder",
        )


def no_table(table: str) -> TableError:
    """Return the error for a table that does not exist."""
    return TableError("table does not exist", path=table, remedy="check the path and the format")


def commit_with_retry(attempt: Callable[[], T], conflict: type[Exception], *, table: str) -> T:
    """Return the result of a commit attempt; retry it after a conflict.

    Each attempt reads the current table, so it detects what another commit has added.
    """
    for _ in range(MAX_COMMIT_ATTEMPTS - 1):
        try:
            return attempt()
        except conflict:
            continue
    try:
        return attempt()
    except conflict as error:
        raise TableError(
            f"commit failed: {error}", path=table, remedy="retry when no other program writes"
        ) from error


def partition_values(names: Sequence[str], file: WrittenFile) -> dict[str, str]:
    """Return the values of a file's partition columns, by name."""
    return dict(zip(names, file.partition_values, strict=True))
