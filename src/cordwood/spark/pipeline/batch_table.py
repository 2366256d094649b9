"""The port of a table that takes each micro-batch once. Each format has its own module.

    batch N ──► is it in the table? ──► tasks write files ──► commit: files and (query, N) together

Spark delivers a batch again until its own commit log has it. A commit names the query and the
batch, so a batch that comes again is recognised by what readers see, and skipped.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from cordwood.core.errors import TableError
from cordwood.spark.pipeline.batch_files import BatchFile

#: The offsets after the batch, in the facts of a commit, and the names of the batch.
OFFSETS_KEY: Final = "cordwood.offsets"
QUERY_KEY: Final = "cordwood.query"
BATCH_KEY: Final = "cordwood.batch"


class BatchKey(NamedTuple):
    """A micro-batch of a query; the id of a query stays the same over restarts."""

    query: str
    batch: int


class BatchCommit(NamedTuple):
    """The newest batch of a query in a table, and the offsets after it, if they are known.

    `is_proven` is false if the table may have been restored to a state without the batch.
    """

    batch: int
    offsets: str | None = None
    is_proven: bool = True


class KeyedRows(NamedTuple):
    """The last row of each key in a batch; those in `deleted` are of deleted keys."""

    key: tuple[str, ...]
    rows: pa.Table
    deleted: pa.Table


class BatchTable(Protocol):
    """A table of one pipeline at a time. `facts` are texts that a commit keeps."""

    @property
    def name(self) -> str:
        """The name in errors."""

    def recover(self) -> None:
        """Finish a commit that was interrupted, so that readers see all of it."""

    def last_batch(self, query: str) -> BatchCommit | None:
        """Return the newest batch of a query that readers see."""

    def folder(self, schema: pa.Schema) -> str:
        """Return the folder for files of tasks; this creates the table if there is none.

        Raise TableError if the table has other columns.
        """

    def append(
        self, files: Sequence[BatchFile], *, key: BatchKey, facts: Mapping[str, str]
    ) -> None:
        """Add files atomically, unless the batch is in the table."""

    def upsert(self, changes: KeyedRows, *, key: BatchKey, facts: Mapping[str, str]) -> None:
        """Replace, add and delete rows by key atomically, unless the batch is in the table."""


def is_written(last: BatchCommit | None, batch: int, *, table: str) -> bool:
    """Return whether a table has a batch, given the newest one that it has.

    Raise TableError if that cannot be determined.
    """
    if last is None or last.batch < batch:
        return False
    if not last.is_proven:
        raise TableError(
            f"cannot determine whether it has batch {batch} of the pipeline: its commit is no "
            "longer in the history of the table, which may have been restored",
            path=table,
            remedy="audit the table; then reset the pipeline, and let it start at the first"
            " offsets that are missing",
        )
    return True


def other_columns(table: str, found: pa.Schema, *, wanted: pa.Schema) -> TableError:
    """Return the error of a table that has other columns than the rows."""
    return TableError(
        f"has the columns {_columns(found)}, and the rows have {_columns(wanted)}",
        path=table,
        remedy="add a transform that selects the columns of the table, or use a new table",
    )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
