"""Exclusive access to a log: a locked log directory, and one of its logs opened for writing.

The log is loaded as a broker loads it, with the checkpoints and the clean-shutdown file of its
directory. That file is kept, since the other logs of the directory do not change. A log without a
checkpoint entry, such as a copied partition, counts as fully replicated. Deleted files are removed
at once, since no other reader has them open. A torn tail is truncated as a broker does. A log with
valid batches behind damage is rejected, because no replica can restore them here.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import RECOVERY_POINTS, read_offset_checkpoint
from cordwood.storage.checkpoints.clean_shutdown_file import read_clean_shutdown
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.file_names import LOCK
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.path_resolution import (
    partition_of,
    read_checkpoints_of,
    read_high_watermark,
)

_FILES_OPEN: Final = 16


@contextmanager
def lock_directory(files: Files, path: str) -> Iterator[None]:
    """Hold the lock of a log directory; raise LogDirectoryError if a broker holds it."""
    try:
        lock = files.lock(f"{path}/{LOCK}")
    except BlockingIOError as error:
        raise LogDirectoryError(
            "is in use by a broker", path=path, remedy="stop it cleanly first"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def open_exclusively(ports: Ports, path: str, *, config: LogConfig) -> Iterator[Log]:
    """Lock the log directory and yield the log; raise LogDirectoryError if a broker holds it."""
    partition_named_by(path)
    with (
        lock_directory(ports.files, directory_of(path)),
        open_locked(ports, path, config=config) as log,
    ):
        yield log


@contextmanager
def open_locked(ports: Ports, path: str, *, config: LogConfig) -> Iterator[Log]:
    """Yield the log, and close it; the caller holds the lock of the log directory."""
    files = ports.files
    table = OpenFileCache(files, _FILES_OPEN)
    try:
        log = Log.open(
            _place(files, path, partition_named_by(path), config),
            ports,
            table=table,
            deletions=_ImmediateDeletions(files),
            recovery=RecoveryOptions(is_strict=True),
        )
    except BaseException:
        table.close()
        raise
    try:
        yield log
    except BaseException:
        log.forget_files()
        raise
    log.close()


def partition_named_by(path: str) -> TopicPartition:
    """Return the partition that a directory is named after; LogDirectoryError for other names."""
    partition = partition_of(path)
    if partition is None:
        raise LogDirectoryError(
            "is not named after a partition",
            path=path,
            remedy="rename it to TOPIC-N, such as orders-0",
        )
    return partition


def _place(files: Files, path: str, partition: TopicPartition, config: LogConfig) -> LogPlace:
    log_directory = directory_of(path)
    recovery_points = read_offset_checkpoint(files, f"{log_directory}/{RECOVERY_POINTS}")
    high_watermark = read_high_watermark(files, path)
    return LogPlace(
        partition=partition,
        directory=path,
        config=config,
        is_clean=read_clean_shutdown(files, log_directory) is not None,
        recovery_point=recovery_points.get(partition, 0),
        log_start=read_checkpoints_of(files, path).log_start,
        high_watermark=INT64_MAX if high_watermark is None else high_watermark,
    )


class _ImmediateDeletions:
    """Delayed deletions, done without the delay."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove files at once; the delay is for concurrent readers, and there are none here."""
        del delay_ms
        for path in paths:
            with suppress(FileNotFoundError):
                self._files.remove(path)
