"""One log of a log directory, opened as a broker opens it, while no broker has the directory.

What checkpoints and the mark of a clean stop say is believed as a broker believes it, and the mark
stays: what is done to one log leaves all others as they were. Where no checkpoint knows of the log,
as beside a copy of a partition's directory, all of it counts as replicated. Files that are to be
removed later are removed at once, for nobody else reads them. A torn end is cut off as a broker
does; a log with whole batches behind damage is refused, for here no replica gives them back.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Clock, Files, Random
from cordwood.core.types import TopicPartition
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpoints import RECOVERY_POINTS, read_offset_checkpoint
from cordwood.storage.clean_shutdown import read_clean_shutdown
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader_place import partition_of, read_beside, read_high_watermark
from cordwood.workbench.locked import locked

_FILES_OPEN: Final = 16


@contextmanager
def owned(
    files: Files, path: str, *, config: LogConfig, clock: Clock, random: Random
) -> Iterator[Log]:
    """Yield a partition's log, and close it; LogDirectoryError while a broker has its directory."""
    named_partition(path)
    with (
        locked(files, directory_of(path)),
        opened(files, path, config=config, clock=clock, random=random) as log,
    ):
        yield log


@contextmanager
def opened(
    files: Files, path: str, *, config: LogConfig, clock: Clock, random: Random
) -> Iterator[Log]:
    """Yield the log of a partition whose log directory is locked by the caller, and close it."""
    table = FileTable(files, _FILES_OPEN)
    tools = LogTools(table=table, random=random, deletions=_AtOnce(files), is_cutting=False)
    try:
        log = Log.open(_place(files, path, named_partition(path), config), tools, clock=clock)
    except BaseException:
        table.close()
        raise
    try:
        yield log
    except BaseException:
        log.forget_files()
        raise
    log.close()


def named_partition(path: str) -> TopicPartition:
    """Return which partition a directory holds; LogDirectoryError if its name does not say so."""
    partition = partition_of(path)
    if partition is None:
        raise LogDirectoryError(
            "does not say by its name which partition it is",
            path=path,
            remedy="give it the name TOPIC-N, as in orders-0",
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
        log_start=read_beside(files, path).log_start,
        high_watermark=INT64_MAX if high_watermark is None else high_watermark,
    )


class _AtOnce:
    """Removes what is to be removed later."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove files; the delay is for those who read them, of whom there are none."""
        del delay_ms
        for path in paths:
            with suppress(FileNotFoundError):
                self._files.remove(path)
