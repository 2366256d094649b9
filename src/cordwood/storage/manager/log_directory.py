"""One log directory: its lock, its `meta.properties`, its checkpoints, its clean-shutdown mark.

    open     creates the directory if necessary, locks it, reads `meta.properties`, creates missing
             checkpoint files; the clean-shutdown mark is read and removed before any log is opened
    fail     takes the directory and its logs out of use after a disk error
    close    writes the clean-shutdown mark and releases the lock

`close` omits the mark in three cases: the directory has failed, a log of it could not be loaded or
closed, or the directory had no mark and was not loaded.

A damaged checkpoint file is reported and counts as empty, as in Kafka: recovery then checks more
batches, and deleted records may become visible again, but no record is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from cordwood.core.errors import DamagedFileError, KafkaStorageError, LogDirectoryError
from cordwood.core.ports import FileKind, FileLock, Files
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.checkpoints.clean_shutdown_file import (
    remove_clean_shutdown,
    write_clean_shutdown,
)
from cordwood.storage.checkpoints.meta_properties import MetaProperties, read_meta_properties
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.storage.files.file_names import (
    LOCK,
    NON_PARTITION_DIRECTORIES,
    DirectoryName,
    parse_directory_name,
)

CHECKPOINTS: Final = (CLEANER_OFFSETS, LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)

Offsets = Mapping[TopicPartition, Offset]


@dataclass(slots=True, kw_only=True)
class LogDirectory:
    """A log directory of this process.

    `checkpoints` holds the offsets that were found when it was opened, by checkpoint name. `lock`
    is None if the directory failed before it could be opened. `is_whole` becomes False when one of
    its logs cannot be loaded or closed.
    """

    path: str
    files: Files
    lock: FileLock | None
    meta: MetaProperties | None
    is_clean: bool
    checkpoints: dict[str, dict[TopicPartition, Offset]]
    damaged: list[DamagedFileError] = field(default_factory=list)
    failure: BaseException | None = None
    is_loaded: bool = False
    is_whole: bool = True
    is_closed: bool = False

    @classmethod
    def open(cls, files: Files, path: str) -> Self:
        """Open and lock a directory; LogDirectoryError if another process has locked it.

        OSError or DamagedFileError if its files cannot be read.
        """
        path = path.rstrip("/") or "/"
        lock = _locked(files, path)
        try:
            return cls._opened(files, path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _opened(cls, files: Files, path: str, lock: FileLock) -> Self:
        meta = read_meta_properties(files, path)
        _make_checkpoints(files, path)
        is_clean = remove_clean_shutdown(files, path) is not None
        damaged: list[DamagedFileError] = []
        checkpoints = {name: _read(files, f"{path}/{name}", damaged) for name in CHECKPOINTS}
        return cls(
            path=path,
            files=files,
            lock=lock,
            meta=meta,
            is_clean=is_clean,
            checkpoints=checkpoints,
            damaged=damaged,
        )

    @classmethod
    def failed(cls, files: Files, path: str, *, error: Exception) -> Self:
        """Return an offline directory, which is listed with its error."""
        return cls(
            path=path,
            files=files,
            lock=None,
            meta=None,
            is_clean=False,
            checkpoints={},
            failure=error,
        )

    @property
    def is_online(self) -> bool:
        """Whether it can be used: it has neither failed nor been closed."""
        return self.outage is None

    @property
    def outage(self) -> str | None:
        """The reason why it cannot be used, None if it can."""
        if self.failure is not None:
            return f"log directory {self.path} is offline: {self.failure}"
        return f"log directory {self.path} has been closed" if self.is_closed else None

    def ensure_online(self) -> None:
        """Raise KafkaStorageError if the directory cannot be used."""
        if self.outage is not None:
            raise KafkaStorageError(self.outage)

    def fail(self, error: BaseException) -> None:
        """Take the directory out of use; the first error is kept."""
        self.failure = self.failure or error

    def partitions(self) -> dict[str, DirectoryName]:
        """Return the partition directories by name; LogDirectoryError if a name is invalid."""
        return partitions_in(self.files, self.path)

    def write_checkpoint(self, name: str, offsets: Offsets) -> None:
        """Replace one of the checkpoint files."""
        write_offset_checkpoint(self.files, f"{self.path}/{name}", offsets=offsets)

    def close(self, *, broker_epoch: int) -> None:
        """Write the clean-shutdown mark and release the lock.

        Its logs must be closed and its checkpoints written before. A second call does nothing,
        because another process may own the directory by then.
        """
        if self.is_closed:
            return
        was_online, self.is_closed = self.is_online, True
        try:
            if was_online and self.is_whole and (self.is_loaded or self.is_clean):
                write_clean_shutdown(self.files, self.path, broker_epoch=broker_epoch)
        finally:
            if self.lock is not None:
                self.lock.release()


def partitions_in(files: Files, path: str) -> dict[str, DirectoryName]:
    """Return the partition directories of a log directory by name.

    LogDirectoryError if another directory is in it.
    """
    return {
        name: parse_directory_name(name, path=f"{path}/{name}")
        for name in files.list(path, FileKind.DIRECTORY)
        if name not in NON_PARTITION_DIRECTORIES
    }


def _locked(files: Files, path: str) -> FileLock:
    try:
        _make_directories(files, path)
        return files.lock(f"{path}/{LOCK}")
    except BlockingIOError as error:
        raise LogDirectoryError(
            "is in use by another process",
            path=path,
            remedy="stop that process, configure other log.dirs, or remove a second link to it",
        ) from error


def _make_directories(files: Files, path: str) -> None:
    """Create a directory and its parents durably."""
    missing = []
    while path != "/" and not exists(files, path):
        missing.append(path)
        path = directory_of(path)
    for each in reversed(missing):
        files.make_directory(each)
        files.sync_directory(directory_of(each))


def _make_checkpoints(files: Files, path: str) -> None:
    """Create the missing checkpoint files, without entries."""
    missing = [name for name in CHECKPOINTS if not exists(files, f"{path}/{name}")]
    for name in missing:
        files.create(f"{path}/{name}").close()


def _read(files: Files, path: str, damaged: list[DamagedFileError]) -> dict[TopicPartition, Offset]:
    try:
        return read_offset_checkpoint(files, path)
    except DamagedFileError as error:
        damaged.append(error)
        return {}
