"""One directory of logs: whose it is, that nobody else uses it, and what its checkpoints say.

    open     made if need be, locked, its name tag read, its four checkpoint files made if missing;
             whether it was closed in order is read and taken back before any log in it is opened
    fail     the disk has refused: the directory and its logs are not used any more, others are
    close    checkpoints, then the mark of a stop in order, then the lock; without the mark if the
             directory has failed, has a log that could not be loaded or closed, or came without it
             and has not been loaded

Damaged checkpoints are told and taken for empty where Kafka does so: then more is checked, and more
than was deleted may be seen again, but nothing is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from cordwood.core.errors import DamagedFileError, KafkaStorageError, LogDirectoryError
from cordwood.core.ports import FileLock, Files, Kind
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.atomic import directory_of, exists
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.clean_shutdown import take_clean_shutdown, write_clean_shutdown
from cordwood.storage.meta_properties import MetaProperties, read_meta_properties
from cordwood.storage.names import LOCK, NO_PARTITIONS, DirectoryName, parse_directory_name

CHECKPOINTS: Final = (CLEANER_OFFSETS, LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)

Offsets = Mapping[TopicPartition, Offset]


@dataclass(slots=True, kw_only=True)
class LogDirectory:
    """A directory that this process owns. `checkpoints` are those found when it was opened.

    There is no lock on one that failed before it could be opened. It is not whole once a log in it
    could not be loaded, or not be closed.
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
        """Take a directory; LogDirectoryError if another process has it or it cannot be used."""
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
        is_clean = take_clean_shutdown(files, path) is not None
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
        """Return a directory that cannot be used, so that it is known of."""
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
        """Whether it can be used: it has not failed, and has not been given back."""
        return self.outage is None

    @property
    def outage(self) -> str | None:
        """Why it cannot be used, None if it can."""
        if self.failure is not None:
            return f"log directory {self.path} is offline: {self.failure}"
        return f"log directory {self.path} has been closed" if self.is_closed else None

    def ensure_online(self) -> None:
        """Refuse what needs a directory that cannot be used."""
        if self.outage is not None:
            raise KafkaStorageError(self.outage)

    def fail(self, error: BaseException) -> None:
        """Take the directory out of use; the first reason stays."""
        self.failure = self.failure or error

    def partitions(self) -> dict[str, DirectoryName]:
        """Return the partition directories by name; LogDirectoryError names what is none."""
        found = {}
        for name in self.files.list(self.path, Kind.DIRECTORY):
            if name not in NO_PARTITIONS:
                found[name] = parse_directory_name(name, path=f"{self.path}/{name}")
        return found

    def write_checkpoint(self, name: str, offsets: Offsets) -> None:
        """Replace one of the checkpoint files."""
        write_offset_checkpoint(self.files, f"{self.path}/{name}", offsets=offsets)

    def close(self, *, broker_epoch: int) -> None:
        """Let others have it. Its logs have been closed and its checkpoints written.

        Closing again does nothing: by then it may be somebody else's.
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


def _locked(files: Files, path: str) -> FileLock:
    try:
        _make_directories(files, path)
        return files.lock(f"{path}/{LOCK}")
    except BlockingIOError as error:
        raise LogDirectoryError(
            "is in use by another process",
            path=path,
            remedy="stop that process, or give this one other log.dirs",
        ) from error


def _make_directories(files: Files, path: str) -> None:
    """Make a directory and those above it, durably."""
    missing = []
    while path != "/" and not exists(files, path):
        missing.append(path)
        path = directory_of(path)
    for each in reversed(missing):
        files.make_directory(each)
        files.sync_directory(directory_of(each))


def _make_checkpoints(files: Files, path: str) -> None:
    """Make those checkpoint files that are missing; they have no entries."""
    missing = [name for name in CHECKPOINTS if not exists(files, f"{path}/{name}")]
    for name in missing:
        files.create(f"{path}/{name}").close()


def _read(files: Files, path: str, damaged: list[DamagedFileError]) -> dict[TopicPartition, Offset]:
    try:
        return read_offset_checkpoint(files, path)
    except DamagedFileError as error:
        damaged.append(error)
        return {}
