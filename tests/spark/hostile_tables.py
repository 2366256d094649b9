"""Tables of each format under programs that are not exports: what they may do to a table.

Every method changes the table with the library of its format, and returns what the rows, and the
version that the state comes from, are afterwards. `rows` reads the table without this package.
"""

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from cordwood.spark.jobs.tables import delta_table, iceberg_table, parquet_table
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from tests.spark.kills import Killed

COLUMNS: Final = ("topic", "partition", "offset", "value")
NAME: Final = "logs.all"


class Row(NamedTuple):
    """A row of a table, as the model has it."""

    topic: str
    partition: int
    offset: int
    value: bytes


Rows = Counter[Row]


@contextmanager
def dying(owner: object, name: str, *, is_after: bool = False) -> Iterator[None]:
    """Kill the driver before or after a call."""
    original = getattr(owner, name)

    def die(*given: object, **named: object) -> None:
        if is_after:
            original(*given, **named)
        raise Killed

    setattr(owner, name, die)
    try:
        yield
    finally:
        setattr(owner, name, original)


class HostileTable(ABC):
    """A table of one format, and its owner."""

    kind: str
    has_versions = True

    def __init__(self, lake: Path) -> None:
        self.lake = lake

    @property
    def options(self) -> dict[str, str]:
        """Return the options of the table's jobs."""
        return {"format": self.kind}

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def rows(self) -> Rows: ...

    @abstractmethod
    def version(self) -> int: ...

    def files(self) -> frozenset[str]:
        """Return the files of the current version, of a format whose versions share them."""
        return frozenset()

    @abstractmethod
    def delete(self, topic: str, below: int) -> None:
        """Delete the rows of a topic below an offset."""

    @abstractmethod
    def alter(self, topic: str) -> None:
        """Replace the values of a topic."""

    @abstractmethod
    def go_back(self, version: int, *, by_time: bool) -> None: ...

    @abstractmethod
    def maintain(self, number: int) -> None:
        """Do work of maintenance that changes no row; `number` selects one."""

    @abstractmethod
    def forget(self) -> None:
        """Remove the history that the format allows to remove."""

    @abstractmethod
    def killing(self, *, is_after: bool) -> AbstractContextManager[None]:
        """Return a context in which the driver dies before or after the commit."""


def _counted(found: pa.Table) -> Rows:
    rows = found.select(list(COLUMNS)).to_pylist()
    return Counter(Row(*(row[name] for name in COLUMNS)) for row in rows)


class HostileDelta(HostileTable):
    """A Delta table."""

    kind = "delta"

    def exists(self) -> bool:
        return DeltaTable.is_deltatable(str(self.lake))

    def _table(self, version: int | None = None) -> DeltaTable:
        return DeltaTable(str(self.lake), version=version)

    def rows(self) -> Rows:
        return _counted(self._table().to_pyarrow_table()) if self.exists() else Counter()

    def version(self) -> int:
        return int(self._table().version())

    def files(self) -> frozenset[str]:
        return frozenset(self._table().file_uris())

    def delete(self, topic: str, below: int) -> None:
        self._table().delete(f"topic = '{topic}' and offset < {below}")

    def alter(self, topic: str) -> None:
        self._table().update(updates={"value": "X'58'"}, predicate=f"topic = '{topic}'")

    def go_back(self, version: int, *, by_time: bool) -> None:
        if not by_time:
            self._table().restore(version)
            return
        path = self.lake / "_delta_log" / f"{version:020}.json"
        at = datetime.fromtimestamp(path.stat().st_mtime_ns / 1e9, UTC)
        self._table().restore(at + timedelta(milliseconds=1))

    def maintain(self, number: int) -> None:
        match number % 4:
            case 0:
                self._table().optimize.compact()
            case 1:
                self._table().create_checkpoint()
            case 2:
                self._table().alter.set_table_properties({"delta.checkpointInterval": "50"})
            case _:
                self._table().vacuum(
                    retention_hours=0, enforce_retention_duration=False, dry_run=False
                )

    def forget(self) -> None:
        self._table().vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)

    def killing(self, *, is_after: bool) -> AbstractContextManager[None]:
        return dying(delta_table.DeltaLakeTable, "_write", is_after=is_after)


class HostileIceberg(HostileTable):
    """An Iceberg table."""

    kind = "iceberg"

    @property
    def options(self) -> dict[str, str]:
        return {"format": self.kind, "table": NAME}

    @property
    def catalog(self) -> Catalog:
        return open_catalog(TableAddress(path=str(self.lake), format=self.kind, name=NAME))

    def _table(self) -> Table:
        return self.catalog.load_table(NAME)

    def exists(self) -> bool:
        return (self.lake / "catalog.db").exists() and self.catalog.table_exists(NAME)

    def rows(self) -> Rows:
        return _counted(self._table().scan().to_arrow()) if self.exists() else Counter()

    def version(self) -> int:
        current = self._table().current_snapshot()
        return 0 if current is None else current.snapshot_id

    def delete(self, topic: str, below: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # if no row is deleted
            self._table().delete(f"topic = '{topic}' and offset < {below}")

    def alter(self, topic: str) -> None:
        table = self._table()
        found = table.scan(row_filter=f"topic = '{topic}'").to_arrow()
        place = found.schema.get_field_index("value")
        values = pa.array([b"X"] * len(found), found.schema.field(place).type)
        altered = found.set_column(place, found.schema.field(place), values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table.overwrite(altered, overwrite_filter=f"topic = '{topic}'")

    def go_back(self, version: int, *, by_time: bool) -> None:  # ids alone
        self._table().manage_snapshots().set_current_snapshot(snapshot_id=version).commit()

    def maintain(self, number: int) -> None:
        table = self._table()
        match number % 3:
            case 0:
                with table.transaction() as transaction:
                    transaction.set_properties({"commit.retry.num-retries": "4"})
            case 1:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    table.overwrite(table.scan().to_arrow())
            case _:
                with table.transaction() as transaction:
                    transaction.set_properties({"owner": "somebody"})

    def forget(self) -> None:
        table = self._table()
        current = table.current_snapshot()
        for each in table.snapshots():
            if current is not None and each.snapshot_id != current.snapshot_id:
                self._table().maintenance.expire_snapshots().by_id(each.snapshot_id).commit()

    def killing(self, *, is_after: bool) -> AbstractContextManager[None]:
        return dying(iceberg_table, "_commit", is_after=is_after)


class HostileParquet(HostileTable):
    """A folder of Parquet files."""

    kind = "parquet"
    has_versions = False

    def _files(self) -> list[Path]:
        return sorted(
            path
            for path in self.lake.rglob("*.parquet")
            if not any(part.startswith("_") for part in path.relative_to(self.lake).parts)
        )

    def exists(self) -> bool:
        return any(self._commits())

    def _commits(self) -> list[Path]:
        """Return the files of exports or of a pipeline that name the files of a commit."""
        own = self.lake / "_cordwood"
        return sorted([*own.glob("commits/*.json"), *own.glob("batches/*/*.json")])

    def rows(self) -> Rows:
        found: Rows = Counter()
        for path in self._files():
            found += _counted(pq.ParquetFile(path).read())
        return found

    def version(self) -> int:
        return 0

    def delete(self, topic: str, below: int) -> None:
        for path in self._files():
            found = pq.ParquetFile(path).read()
            is_gone = pc.and_(pc.equal(found["topic"], topic), pc.less(found["offset"], below))
            pq.write_table(found.filter(pc.invert(is_gone)), path)

    def alter(self, topic: str) -> None:
        for path in self._files():
            found = pq.ParquetFile(path).read()
            place = found.schema.get_field_index("value")
            is_own = pc.equal(found["topic"], topic)
            values = pc.if_else(is_own, pa.scalar(b"X", found["value"].type), found["value"])
            pq.write_table(found.set_column(place, found.schema.field(place), values), path)

    def go_back(self, version: int, *, by_time: bool) -> None:
        raise NotImplementedError

    def maintain(self, number: int) -> None:  # one kind
        files = self._files()
        if len(files) > 1:
            whole = pa.concat_tables([pq.ParquetFile(path).read() for path in files[:2]])
            pq.write_table(whole, files[0])
            files[1].unlink()

    def killing(self, *, is_after: bool) -> AbstractContextManager[None]:
        name = "_move" if is_after else "_write"
        return dying(parquet_table.ParquetTable, name)

    def forget(self) -> None:
        for path in self._commits()[:-1]:
            path.unlink()


TABLES: Final = {each.kind: each for each in (HostileDelta, HostileIceberg, HostileParquet)}
