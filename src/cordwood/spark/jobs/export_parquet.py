"""An export into a folder of Parquet files, which has no commits of its own and is given some.

    table/
    ├── date=2026-11-22/….parquet     what readers see; they pass over names with a _ in front
    └── _cordwood/
        ├── lock                      one export at a time
        ├── commits/<number>.json     ranges, standing, and the names of its files; never changed
        └── staged/….parquet          what tasks have written and no commit has named, or not yet

A commit counts once its file is there, whole and synced; then its files are moved to their places.
Who comes after an interrupted one moves what it had not, and removes what nobody named. A folder
has no snapshots: who reads in the middle of the moving sees a part of a commit.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from cordwood.core.errors import TableError
from cordwood.core.ports import Files
from cordwood.spark.jobs.audit_pieces import ParquetPiece, TablePiece
from cordwood.spark.jobs.export_ledger import (
    STANDING,
    Shape,
    Standing,
    empty,
    notes,
    read_standing,
)
from cordwood.spark.jobs.export_tables import (
    OURS,
    Addition,
    TableAddress,
    not_ours,
    nothing_there,
)
from cordwood.storage.atomic import write_atomically

_FILES: Final = "files"

#: What a commit says, by the names above; among it ranges and standing, as text.
_Commit = dict[str, Any]


class ParquetTable:
    """The folder."""

    is_whole = False

    def __init__(self, address: TableAddress, files: Files) -> None:
        self.name = address.path
        self._files = files
        self._root = Path(address.path)
        self._staged = self._root / OURS / "staged"
        self._commits = self._root / OURS / "commits"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; begin with what an interrupted commit has left."""
        if self._newest() is None:
            self._refuse_others()
        self._staged.mkdir(parents=True, exist_ok=True)
        self._commits.mkdir(parents=True, exist_ok=True)
        try:
            lock = self._files.lock(str(self._root / OURS / "lock"))
        except BlockingIOError as error:
            raise TableError(
                "another export writes to it", path=self.name, remedy="wait until that has ended"
            ) from error
        try:
            self._settle()
            yield
        finally:
            lock.release()

    def standing(self) -> Standing | None:
        """Return what the newest commit says."""
        newest = self._newest()
        if newest is None:
            self._refuse_others()
            return None
        return read_standing(str(self._said(newest)[STANDING]), table=self.name)

    def folder(self, shape: Shape) -> str:  # noqa: ARG002  # a folder is the same for all
        """Return where files wait for their commit."""
        return str(self._staged)

    def commit(self, addition: Addition, shape: Shape) -> Standing:
        """Write the commit, then move its files."""
        before = self.standing() or empty(shape)
        after = addition.onto(before, shape, table=self.name)
        names = [file.path for file in addition.files]
        said = {**notes(addition.stretches, after), _FILES: names}
        for folder in {(self._staged / file.path).parent for file in addition.files}:
            self._files.sync_directory(str(folder))
        path = self._commits / f"{len(list(self._commits.glob('*.json'))):020}.json"
        write_atomically(self._files, str(path), data=json.dumps(said).encode())
        self._move(path)
        return after

    def pieces(self) -> list[TablePiece]:
        """Return the files of the folder, but for those that readers pass over."""
        import pyarrow.dataset as ds  # noqa: PLC0415  # pandas comes with it, into tasks too

        unmoved = self._unmoved()
        if unmoved:
            raise TableError(
                f"its newest commit was interrupted: {unmoved[0]} is not in its place",
                path=self.name,
                remedy="make the export again, which finishes it",
            )
        if not self._root.exists():
            raise nothing_there(self.name)
        try:
            found = ds.dataset(self._root, format="parquet", partitioning="hive")
        except pa.ArrowException as error:
            raise TableError(
                f"cannot be read: {error}", path=self.name, remedy="mend the file, or remove it"
            ) from error
        return [
            ParquetPiece(
                fragment.path,
                Path(fragment.path).stat().st_size,
                ds.get_partition_keys(fragment.partition_expression),
            )
            for fragment in found.get_fragments()
        ]

    def _unmoved(self) -> list[str]:
        """Return the files of the newest commit that wait to be moved to their places.

        What is in neither place was removed since: rows that are missing are found by looking.
        """
        newest = self._newest()
        named = [] if newest is None else self._said(newest)[_FILES]
        return [name for name in named if (self._staged / name).exists()]

    def _newest(self) -> Path | None:
        return max(self._commits.glob("*.json"), default=None)

    def _refuse_others(self) -> None:
        """Refuse a folder with files in it that no commit speaks of."""
        if self._root.exists() and any(path.name != OURS for path in self._root.iterdir()):
            raise not_ours(self.name)

    def _settle(self) -> None:
        newest = self._newest()
        if newest is not None:
            self._move(newest)
        for path in sorted(self._staged.rglob("*"), reverse=True):
            remove = self._files.remove_directory if path.is_dir() else self._files.remove
            with suppress(OSError):  # a task that outlives its driver writes there: the next time
                remove(str(path))

    def _move(self, commit: Path) -> None:
        """Move the files of a commit to their places, if they are not there yet."""
        folders: set[Path] = set()
        for name in self._said(commit)[_FILES]:
            source, target = self._staged / name, self._root / name
            if source.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                self._files.rename(str(source), str(target))
                folders |= {target.parent, *target.parent.parents} & self._inside(target)
        for folder in folders:
            self._files.sync_directory(str(folder))

    def _said(self, commit: Path) -> _Commit:
        """Return what a commit says; TableError where it is not what was written."""
        try:
            said: _Commit = json.loads(commit.read_text())
            if isinstance(said[STANDING], str) and isinstance(said[_FILES], list):
                return said
        except (ValueError, KeyError, TypeError):
            pass
        raise TableError(
            "is no commit of an export, or is damaged",
            path=str(commit),
            remedy="bring it back from a copy, or export into another table",
        )

    def _inside(self, path: Path) -> set[Path]:
        """Return the folders of the table that hold a path."""
        return {each for each in path.parents if each.is_relative_to(self._root)}
