"""The port of an export: a table that files are committed to; a module beside has each format.

where files go ──► tasks write them ──► commit, with ranges and standing ──► readers see them
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from cordwood.core.errors import SettingError, TableError
from cordwood.spark.holdings import NO_IDS
from cordwood.spark.jobs.audit_pieces import TablePiece
from cordwood.spark.jobs.export_files import WrittenFile
from cordwood.spark.jobs.export_ledger import Shape, Standing, Stretch, grown

PARQUET: Final = "parquet"
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
#: In a folder of Parquet: commits, and files that wait for theirs. Readers pass it over.
OURS: Final = "_cordwood"
#: How often a commit is tried anew that met another one, and would repeat nothing.
MOST_TRIES: Final = 10

FORMATS: Final = (PARQUET, DELTA, ICEBERG)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAddress:
    """Which table: a folder that driver and tasks share; of Iceberg a warehouse, and a name in it.

    `catalog` has the properties of an Iceberg catalog; without any it is an SQLite file in the
    warehouse.
    """

    path: str
    format: str = PARQUET
    name: str | None = None
    catalog: Mapping[str, str] = field(default_factory=dict)


class Addition(NamedTuple):
    """What one commit adds."""

    files: tuple[WrittenFile, ...]
    stretches: tuple[Stretch, ...]
    topic_ids: Mapping[str, str] = NO_IDS

    def onto(self, before: Standing, shape: Shape, *, table: str) -> Standing:
        """Return where a table stands with it; TableError where that cannot be: see `grown`."""
        added, ids = self.stretches, self.topic_ids
        return grown(before, added, shape=shape, table=table, topic_ids=ids)


class ExportTable(Protocol):
    """A table that an export goes to. One thread calls, between entering and leaving `writing`."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def is_whole(self) -> bool:
        """Whether its files have the columns that it is partitioned by."""

    def writing(self) -> AbstractContextManager[None]:
        """Make it ready: what an interrupted commit has left is finished or undone."""

    def standing(self) -> Standing | None:
        """Return where it stands as of its newest commit; None while there is no table.

        ForeignTableError is raised where there is a table that no export has made.
        """

    def pieces(self) -> list[TablePiece]:
        """Return what its readers see now, whoever made it.

        TableError is raised where there is nothing, or what cannot be read here.
        """

    def folder(self, shape: Shape) -> str:
        """Return where tasks are to write files; a table that is not there may be made for it."""

    def commit(self, addition: Addition, shape: Shape) -> Standing:
        """Add files and ranges in one step, and return where the table stands then.

        It is all or nothing, for a crash too. TableError is raised, and nothing added, where the
        table, as it is at that moment, would have an offset twice, lack one, or have those of two
        topics: see `grown`.
        """


def check_address(address: TableAddress) -> None:
    """Refuse what is no address of a table."""
    if address.format not in FORMATS:
        raise SettingError(
            f"there is no format {address.format!r} to export to",
            key="format",
            remedy=f"use one of {', '.join(FORMATS)}",
        )
    if (address.format == ICEBERG) != (address.name is not None):
        raise SettingError(
            "a table of Iceberg has a name, and one of another format a path alone",
            key="table",
            remedy="give table=<namespace>.<name> with iceberg, and nowhere else",
        )


def missing(library: str, error: ImportError) -> SettingError:
    """Return what to raise where the library of a format is not installed."""
    return SettingError(
        f"the format needs {library}, which cannot be imported: {error}",
        key="format",
        remedy="install cordwood[spark], on the driver and the workers",
    )


class ForeignTableError(TableError):
    """There is a table, and no export has made it."""


def not_ours(table: str) -> ForeignTableError:
    """Return what to raise where something is that no export has made."""
    return ForeignTableError(
        "is there, and no export has made it",
        path=table,
        remedy="name a place where nothing is yet",
    )


def refuse_parquet(folder: Path) -> None:
    """Refuse a folder that exports have made a table of Parquet: its readers would see all."""
    if (folder / OURS).exists():
        raise TableError(
            "is a table of Parquet that an export has made",
            path=str(folder),
            remedy=f"ask for format={PARQUET}, or name a place where nothing is yet",
        )


def nothing_there(table: str) -> TableError:
    """Return what to raise where a table is to be read and none is."""
    return TableError("there is no table", path=table, remedy="check where it is, and its format")


def until_taken(
    attempt: Callable[[], Standing], conflict: type[Exception], *, table: str
) -> Standing:
    """Return what an attempt to commit returns; make it anew where somebody else was faster.

    Each attempt looks at the table as it is by then, and so finds out if it would repeat anything.
    """
    for _ in range(MOST_TRIES - 1):
        try:
            return attempt()
        except conflict:
            continue
    try:
        return attempt()
    except conflict as error:
        raise TableError(
            f"takes no commit: {error}", path=table, remedy="try again when it is quiet"
        ) from error


def partition_values(names: Sequence[str], file: WrittenFile) -> dict[str, str]:
    """Return the values of a file's partition columns."""
    return dict(zip(names, file.place, strict=True))
