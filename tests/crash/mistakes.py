"""Mistakes that storage could have made, planted one at a time to see that the harness finds them.

Each changes one step: a sync left out, an order turned around, a check that says yes.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

import pytest

from cordwood.core.ports import Pending
from cordwood.records.header import BatchHeader, ensure_crc
from cordwood.storage import clean_shutdown, log_directory, replacing, segment_recovery
from cordwood.storage.bounds import OffsetBounds
from cordwood.storage.flushing import FlushJob
from cordwood.storage.log import Log
from cordwood.storage.names import DELETED, LOG
from cordwood.storage.replacing import Replacement
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentFiles, SegmentPath
from cordwood.storage.swapper import Swapper
from cordwood.testing.files import MemoryFile, MemoryFiles
from tests.crash.world import World

Plant = Callable[[pytest.MonkeyPatch], None]


def _no_sync_of(pattern: str) -> Plant:
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
            clean_shutdown.write_clean_shutdown(world.files, directory.path)
        stop(world)

    patch.setattr(World, "stop", early)


def _mark_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log_directory, "take_clean_shutdown", clean_shutdown.read_clean_shutdown)


def _any_checksum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(segment_recovery, "ensure_crc", lambda header, data: None)


def _end_is_enough(patch: pytest.MonkeyPatch) -> None:
    def ensure(header: BatchHeader, data: memoryview) -> None:
        if not any(data[-8:]):
            ensure_crc(header, data)

    patch.setattr(segment_recovery, "ensure_crc", ensure)


def _torn_end_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Segment, "cut_at", lambda segment, position: 0)


def _indexes_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentFiles, "reset_indexes", lambda files: None)


def _padding_is_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SegmentFiles, "is_padded", lambda files: False)


def _flush_of_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FlushJob, "run", lambda job, files: None)


def _recovery_point_ahead(patch: pytest.MonkeyPatch) -> None:
    appended = OffsetBounds.appended

    def eager(bounds: OffsetBounds, log_end: int) -> None:
        appended(bounds, log_end)
        bounds.flushed(log_end)

    patch.setattr(OffsetBounds, "appended", eager)


def _close_without_flush(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "close", lambda log: None)


def _clean_before_the_swap(patch: pytest.MonkeyPatch) -> None:
    swap = Swapper.swap

    def hasty(swapper: Swapper, log: Log, replacements: list[Replacement]) -> Pending[None]:
        swapper._manager.cleaned(log, log.base_offsets[-1])  # noqa: SLF001 - a mistake of its own
        return swap(swapper, log, replacements)

    patch.setattr(Swapper, "swap", hasty)


def _swap_undecided(patch: pytest.MonkeyPatch) -> None:
    """What is replaced is set aside before it is durable that it is."""
    decide = replacing._decide  # noqa: SLF001 - the step that goes wrong

    def undecided(files: MemoryFiles, directory: str, *, bases: Sequence[int]) -> None:
        with patch.context() as meanwhile:
            meanwhile.setattr(MemoryFiles, "sync_directory", lambda files, path: None)
            decide(files, directory, bases=bases)

    patch.setattr(replacing, "_decide", undecided)


def _swap_set_aside_first(patch: pytest.MonkeyPatch) -> None:
    """What is replaced loses its name while what replaces it has .cleaned."""
    decide = replacing._decide  # noqa: SLF001 - the step that goes wrong

    def late(files: MemoryFiles, directory: str, *, bases: Sequence[int]) -> None:
        for base in bases:
            path = SegmentPath(directory, base).of(LOG)
            files.rename(path, f"{path}{DELETED}")
        files.sync_directory(directory)
        decide(files, directory, bases=bases)

    patch.setattr(replacing, "_decide", late)


MISTAKES: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "records are not synced": _no_sync_of("*.log"),
        "checkpoints are renamed before their bytes are synced": _no_sync_of("*.tmp"),
        "names in a partition's directory are not synced": _no_directory_sync_of("/logs/*/*"),
        "names of partitions are not synced": _no_directory_sync_of("/logs/[ab]"),
        "a stop is marked as clean before the logs are closed": _stop_marked_first,
        "the mark of a clean stop stays": _mark_stays,
        "a stop closes logs without a flush": _close_without_flush,
        "recovery believes every checksum": _any_checksum,
        "recovery believes a batch whose end has arrived": _end_is_enough,
        "recovery leaves the torn end": _torn_end_stays,
        "recovery adds to the indexes that were there": _indexes_stay,
        "zeros behind an index are believed": _padding_is_believed,
        "a flush does nothing": _flush_of_nothing,
        "the recovery point runs ahead of the disk": _recovery_point_ahead,
    }
)
CLEANING_MISTAKES: Final[Mapping[str, Plant]] = MappingProxyType(
    {
        "cleaned segments are not synced": _no_sync_of("*.cleaned"),
        "the cleaner's checkpoint runs ahead of the swap": _clean_before_the_swap,
        "a swap goes on before its decision is durable": _swap_undecided,
        "a swap sets aside before it has decided": _swap_set_aside_first,
    }
)
