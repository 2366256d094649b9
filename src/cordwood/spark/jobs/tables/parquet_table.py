"""Folders of Parquet files of exports, with commits in a subfolder.

    table/
    ├── date=2026-11-22/….parquet     files of readers, which ignore names that begin with _
    └── _cordwood/
        ├── lock                      one export at a time
        ├── commits/<number>.json     ranges, state, and the names of its files; immutable
        └── staged/….parquet          files of tasks that are not in a commit, or not moved yet

A commit is valid once its file exists, complete and synced; then its files are moved to their
folders. Its file is linked to the next number, which fails if another program has taken it: a lock
does not exclude an export on another machine, if the file system only pretends to have locks. The
next export finishes the moves of an interrupted commit, and removes staged files without a commit.
A folder has no snapshots: a reader during the moves sees a part of a commit.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.spark.jobs.tables.export_table import (
    METADATA_FOLDER,
    TableAddress,
    TableCommit,
    foreign_table,
    no_table,
)
from cordwood.spark.jobs.tables.parquet_files import table_schema
from cordwood.spark.jobs.tables.table_ledger import (
    STATE_KEY,
    TableLayout,
    TableState,
    commit_metadata,
    empty_state,
    parse_state,
)
from cordwood.spark.jobs.tables.table_pieces import ParquetPiece, TablePiece
from cordwood.storage.files.atomic_write import write_synced

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_FILES: Final = "files"

#: A parsed commit file: ranges and state as text, and file names.
_Commit = dict[str, Any]


class ParquetTable:
    """A folder of Parquet files with commits."""

    has_partition_columns = False

    def __init__(self, address: TableAddress, files: Files) -> None:
        self.name = address.path
        self._files = files
        self._root = Path(address.path)
        self._staged = self._root / METADATA_FOLDER / "staged"
        self._commits = self._root / METADATA_FOLDER / "commits"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; first finish or undo an interrupted commit."""
        if self._newest() is None:
            self._check_foreign()
        self._staged.mkdir(parents=True, exist_ok=True)
        self._commits.mkdir(parents=True, exist_ok=True)
        try:
            lock = self._files.lock(str(self._root / METADATA_FOLDER / "lock"))
        except BlockingIOError as error:
            raise TableError(
                "locked by another export", path=self.name, remedy="retry when it has ended"
            ) from error
        try:
            self._recover()
            yield
        finally:
            lock.release()

    def state(self) -> TableState | None:
        """Return the state in the newest commit."""
        newest = self._newest()
        if newest is None:
            self._check_foreign()
            return None
        return self._state_in(newest)

    def _state_in(self, commit: Path) -> TableState:
        return parse_state(str(self._read(commit)[STATE_KEY]), table=self.name)

    def folder(self, layout: TableLayout) -> str:  # noqa: ARG002  # the folder does not depend on it
        """Return the folder of staged files."""
        return str(self._staged)

    def commit(self, commit: TableCommit, layout: TableLayout) -> TableState:
        """Write the commit file, then move its files."""
        before = self.state() or empty_state(layout)
        after = commit.apply_to(before, layout, table=self.name)
        names = [file.path for file in commit.files]
        content = {**commit_metadata(commit.ranges, after), _FILES: names}
        for folder in {(self._staged / file.path).parent for file in commit.files}:
            self._files.sync_directory(str(folder))
        newest = self._newest()
        number = 0 if newest is None else int(newest.stem) + 1
        path = self._commits / f"{number:020}.json"
        self._write(path, json.dumps(content).encode())
        self._move(path)
        return after

    def _write(self, path: Path, data: bytes) -> None:
        """Write a new commit file; raise TableError if the path exists."""
        try:
            create_exclusively(path, data, files=self._files, table=self.name)
        except FileExistsError as error:
            raise TableError(
                f"another export has committed {path.name} at the same time",
                path=self.name,
                remedy="run the export again; use Delta or Iceberg if locks have no effect here",
            ) from error

    def pieces(self) -> list[TablePiece]:
        """Return the files of the folder that readers see."""
        import pyarrow.dataset as ds  # noqa: PLC0415  # pandas comes with it, into tasks too

        unmoved = self._unmoved()
        if unmoved:
            raise TableError(
                f"its newest commit was interrupted ({unmoved[0]} is still staged)",
                path=self.name,
                remedy="run the export again, which finishes the commit",
            )
        if not self._root.exists():
            raise no_table(self.name)
        try:
            found = ds.dataset(self._root, format="parquet", partitioning=self._partitioning())
        except pa.ArrowException as error:
            raise TableError(
                f"cannot be read: {error}", path=self.name, remedy="repair the file, or remove it"
            ) from error
        return [
            ParquetPiece(
                fragment.path,
                Path(fragment.path).stat().st_size,
                ds.get_partition_keys(fragment.partition_expression),
            )
            for fragment in found.get_fragments()
        ]

    def _partitioning(self) -> "ds.Partitioning | str":
        """Return the types of the partition columns: a topic 007 is not the number 7."""
        import pyarrow.dataset as ds  # noqa: PLC0415  # as above

        newest = self._newest()
        state = None if newest is None else self._state_in(newest)
        by = () if state is None else state.layout.partition_by
        return ds.partitioning(table_schema(by), flavor="hive") if by else "hive"

    def _unmoved(self) -> list[str]:
        """Return the staged files of the newest commit.

        A file that is neither staged nor moved was removed later; an audit finds its missing rows.
        """
        newest = self._newest()
        named = [] if newest is None else self._read(newest)[_FILES]
        return [name for name in named if (self._staged / name).exists()]

    def _newest(self) -> Path | None:
        return max(self._commits.glob("*.json"), default=None)

    def _check_foreign(self) -> None:
        """Reject a folder with files but without commits."""
        if self._root.exists() and any(
            path.name != METADATA_FOLDER for path in self._root.iterdir()
        ):
            raise foreign_table(self.name)

    def _recover(self) -> None:
        newest = self._newest()
        if newest is not None:
            self._move(newest)
        for left in self._commits.glob("*.tmp"):
            self._files.remove(str(left))
        for path in sorted(self._staged.rglob("*"), reverse=True):
            remove = self._files.remove_directory if path.is_dir() else self._files.remove
            # A task that outlives its driver still writes there. The next export retries.
            with suppress(OSError):
                remove(str(path))

    def _move(self, commit: Path) -> None:
        """Move the staged files of a commit to their folders."""
        folders: set[Path] = set()
        for name in self._read(commit)[_FILES]:
            source, target = self._staged / name, self._root / name
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                self._files.rename(str(source), str(target))
                folders |= {target.parent, *target.parent.parents} & self._inside(target)
        for folder in folders:
            self._files.sync_directory(str(folder))

    def _read(self, commit: Path) -> _Commit:
        """Read a commit file; raise TableError if it is damaged."""
        try:
            content: _Commit = json.loads(commit.read_text())
            if isinstance(content[STATE_KEY], str) and isinstance(content[_FILES], list):
                return content
        except (ValueError, KeyError, TypeError):
            pass
        raise TableError(
            "not a commit of an export, or damaged",
            path=str(commit),
            remedy="restore it from a copy, or export into another table",
        )

    def _inside(self, path: Path) -> set[Path]:
        """Return the folders of the table that contain a path."""
        return {each for each in path.parents if each.is_relative_to(self._root)}


def create_exclusively(path: Path, data: bytes, *, files: Files, table: str) -> None:
    """Create a synced file with its whole content; raise FileExistsError if the path exists.

    Raise TableError if the file system of the table cannot do that.
    """
    temporary = path.with_name(f"{path.stem}-{uuid4().hex}.tmp")
    write_synced(files, str(temporary), data=data)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError as error:
        raise TableError(
            f"its file system cannot create a file exclusively ({error.strerror})",
            path=table,
            remedy="use format=delta or format=iceberg, or a file system with hard links",
        ) from error
    finally:
        files.remove(str(temporary))
    files.sync_directory(str(path.parent))
