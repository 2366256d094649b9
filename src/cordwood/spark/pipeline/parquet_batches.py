"""Micro-batches in a folder of Parquet files, with commits in a subfolder.

    table/
    ├── ….parquet                         files of readers, which ignore names that begin with _
    └── _cordwood/
        ├── batches/<query>/<batch>.json  the files of a batch and its facts; immutable
        └── staged/<query>/….parquet      files of tasks that are not in a batch, or not moved yet

A batch is in the table once its file exists, complete and synced; then its files are moved to the
folder. The next batch finishes the moves of an interrupted one, and removes staged files of lost
attempts. A folder has no snapshots: a reader during the moves sees a part of a batch.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from cordwood.core.ports import Files
from cordwood.spark.jobs.tables.export_table import METADATA_FOLDER, TableAddress, foreign_table
from cordwood.spark.jobs.tables.parquet_table import create_exclusively
from cordwood.spark.pipeline.batch_files import BatchFile
from cordwood.spark.pipeline.batch_table import (
    OFFSETS_KEY,
    BatchCommit,
    BatchKey,
    KeyedRows,
    other_columns,
)

_FILES: Final = "files"


class ParquetBatches:
    """A folder of Parquet files with the batches of a query."""

    def __init__(self, address: TableAddress, query: str, files: Files) -> None:
        self.name = address.path
        self._files = files
        self._root = Path(address.path)
        own = self._root / METADATA_FOLDER
        self._staged = own / "staged" / query
        self._batches = own / "batches" / query

    def recover(self) -> None:
        """Finish the moves of the newest batch."""
        newest = self._newest()
        if newest is not None:
            self._move(newest)

    def last_batch(self, query: str) -> BatchCommit | None:
        """Return the newest batch."""
        assert query == self._batches.name, "a folder is opened for one query"
        newest = self._newest()
        if newest is None:
            return None
        return BatchCommit(int(newest.stem), json.loads(newest.read_text()).get(OFFSETS_KEY))

    def folder(self, schema: pa.Schema) -> str:
        """Return the folder of staged files, after the moves of an interrupted batch."""
        self._check_foreign()
        self._staged.mkdir(parents=True, exist_ok=True)
        self._batches.mkdir(parents=True, exist_ok=True)
        self.recover()
        for left in [*self._staged.iterdir(), *self._batches.glob("*.tmp")]:
            with suppress(OSError):  # a task of a killed driver may write there still
                self._files.remove(str(left))
        known = next(self._root.glob("*.parquet"), None)
        if known is not None and pq.read_schema(known) != schema:
            raise other_columns(self.name, pq.read_schema(known), wanted=schema)
        return str(self._staged)

    def append(
        self, files: Sequence[BatchFile], *, key: BatchKey, facts: Mapping[str, str]
    ) -> None:
        """Write the file of the batch, then move its files."""
        path = self._batches / f"{key.batch:020}.json"
        content = {**facts, _FILES: [file.path for file in files]}
        self._files.sync_directory(str(self._staged))
        data = json.dumps(content).encode()
        with suppress(FileExistsError):  # the batch is there: another driver of the query wrote it
            create_exclusively(path, data, files=self._files, table=self.name)
        self._move(path)

    def upsert(self, changes: KeyedRows, *, key: BatchKey, facts: Mapping[str, str]) -> NoReturn:
        """Refuse: files cannot be updated; the definition of a pipeline has no such sink."""
        raise NotImplementedError

    def _newest(self) -> Path | None:
        return max(self._batches.glob("*.json"), default=None)

    def _check_foreign(self) -> None:
        """Reject a folder with files that no pipeline has written."""
        own = self._root / METADATA_FOLDER / "batches"
        if not own.exists() and self._root.exists() and any(self._root.iterdir()):
            raise foreign_table(self.name)

    def _move(self, batch: Path) -> None:
        """Move the staged files of a batch to the folder."""
        for name in json.loads(batch.read_text())[_FILES]:
            source = self._staged / name
            if source.exists():
                self._files.rename(str(source), str(self._root / name))
        self._files.sync_directory(str(self._root))
