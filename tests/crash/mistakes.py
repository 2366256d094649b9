"""Mistakes of storage, planted one at a time to prove that the harness finds them.

Each changes one step: a missing fsync, a reversed order, a check that always passes.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

import pytest

from cordwood.core.ports import Pending
from cordwood.records.batch_header import BatchHeader, ensure_crc
from cordwood.storage.checkpoints import clean_shutdown_file
from cordwood.storage.files.file_names import DELETED, LOG
from cordwood.storage.log import (
    segment_recovery,
    segment_swap,
)
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.manager import log_directory
from cordwood.storage.manager.swap_driver import SwapDriver
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentFiles, SegmentPath
from cordwood.testing.memory_files import MemoryFile, MemoryFiles
from tests.crash.world import World

Plant = Callable[[pytest.MonkeyPatch], None]


def no_sync_of(pattern: str) -> Plant:
    """A file's bytes are taken for durable, and are not."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        sync = MemoryFile.sync

        def selective(file: MemoryFile) -> None:
            if not fnmatchcase(file.path, pattern):
                sync(file)

        patch.setattr(MemoryFile, "sync", selective)

    return plant


def _no_directory_sync_of(pattern: str) -> Plant:
    """A directory's names are taken for durable, and are not."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        sync = MemoryFiles.sync_directory

        def selective(files: MemoryFiles, path: str) -> None:
            if not fnmatchcase(path, pattern):
                sync(files, path)

        patch.setattr(MemoryFiles, "sync_directory", selective)

    return plant


def _stop_marked_first(patch: pytest.MonkeyPatch) -> None:
    stop = World.stop

    def early(world: World) -> None:
        for directory in world.manager.directories:
            clean_shutdown_file.write_clean_shutdown(world.files, directory.path)
        stop(world)

    patch.setattr(World, "stop", early)


def _mark_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log_directory, "remove_clean_shutdown", clean_shutdown_file.read_clean_shutdown)


def _any_checksum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(segment_recovery, "ensure_crc", lambda header, data: None)


def _end_is_enough(patch: pytest.MonkeyPatch) -> None:
    def ensure(header: BatchHeader, data: memoryview) -> None:
        if not any(data[-8:]):
            ensure_crc(header, data)

    patch.setattr(segment_recovery, "ensure_crc", ensure)


def _torn_end_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogSegment, "truncate_log", lambda segment, position: 0)


def _indexes_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentFiles, "reset_indexes", lambda files: None)


def _padding_is_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentFiles, "is_padded", lambda files: False)


def _flush_of_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FlushJob, "run", lambda job, files: None)


def _recovery_point_ahead(patch: pytest.MonkeyPatch) -> None:
    appended = OffsetBounds.advance_log_end

    def eager(bounds: OffsetBounds, log_end: int) -> None:
        appended(bounds, log_end)
        bounds.advance_recovery_point(log_end)

    patch.setattr(OffsetBounds, "advance_log_end", eager)


def _close_without_flush(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "close", lambda log: None)


def _clean_before_the_swap(patch: pytest.MonkeyPatch) -> None:
    swap = SwapDriver.swap

    def hasty(
        swapper: SwapDriver, log: Log, replacements: list[SegmentReplacement]
    ) -> Pending[None]:
        swapper._manager.set_cleaned_to(log, log.base_offsets[-1])  # noqa: SLF001 - a mistake of its own
        return swap(swapper, log, replacements)

    patch.setattr(SwapDriver, "swap", hasty)


def _swap_undecided(patch: pytest.MonkeyPatch) -> None:
    """Rename the replaced segments before the decision for the swap is durable."""
    decide = segment_swap._decide  # noqa: SLF001 - the step that goes wrong

    def undecided(files: MemoryFiles, directory: str, *, bases: Sequence[int]) -> None:
        with patch.context() as meanwhile:
            meanwhile.setattr(MemoryFiles, "sync_directory", lambda files, path: None)
            decide(files, directory, bases=bases)

    patch.setattr(segment_swap, "_decide", undecided)


def _swap_set_aside_first(patch: pytest.MonkeyPatch) -> None:
    """Rename the replaced segments while the new ones are still `.cleaned`."""
    decide = segment_swap._decide  # noqa: SLF001 - the step that goes wrong

    def late(files: MemoryFiles, directory: str, *, bases: Sequence[int]) -> None:
        for base in bases:
            path = SegmentPath(directory, base).of(LOG)
            files.rename(path, f"{path}{DELETED}")
        files.sync_directory(directory)
        decide(files, directory, bases=bases)

    patch.setattr(segment_swap, "_decide", late)


MISTAKES: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "records are not synced": no_sync_of("*.log"),
        "checkpoints are renamed before their bytes are synced": no_sync_of("*.tmp"),
        "names in a partition's directory are not synced": _no_directory_sync_of("/logs/*/*"),
        "names of partitions are not synced": _no_directory_sync_of("/logs/[ab]"),
        "a stop is marked as clean before the logs are closed": _stop_marked_first,
        "the mark of a clean stop stays": _mark_stays,
        "a stop closes logs without a flush": _close_without_flush,
        "recovery accepts every checksum": _any_checksum,
        "recovery accepts a batch whose end has arrived": _end_is_enough,
        "recovery leaves the torn end": _torn_end_stays,
        "recovery adds to the indexes that were there": _indexes_stay,
        "zeros after an index are accepted": _padding_is_believed,
        "a flush does nothing": _flush_of_nothing,
        "the recovery point runs ahead of the disk": _recovery_point_ahead,
    }
)
CLEANING_MISTAKES: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "cleaned segments are not synced": no_sync_of("*.cleaned"),
        "the cleaner's checkpoint runs ahead of the swap": _clean_before_the_swap,
        "a swap goes on before its decision is durable": _swap_undecided,
        "a swap sets aside before it has decided": _swap_set_aside_first,
    }
)
