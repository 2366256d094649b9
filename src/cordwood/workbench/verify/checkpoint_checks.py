"""Comparison of the end of a log with the checkpoints of its log directory.

    log start           beyond the end  damage   a broker deletes the whole log at startup
    recovery point      beyond the end  damage   records that were fsynced are missing
    cleaner checkpoint  beyond the end  damage   a cleaner fsyncs what it has cleaned
    high watermark      beyond the end  note     committed records are missing; a power failure may
                                                 lose records that were not fsynced

Checkpoints are read before the log. Meanwhile the log only grows, or it is truncated together with
new checkpoints. Without a clean-shutdown file, data above the recovery point need not be on disk: a
broker is running, or has crashed and will recover the log at startup.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.workbench.verify.findings import LOST, VerifyFinding, damage, note


class CheckpointedEnds(NamedTuple):
    """The checkpointed offsets of a partition; 0 if there is no entry.

    From `unsynced_from` on, files of the log may lag behind each other; None means no such offset.
    `is_clean`: the broker has stopped in order.
    """

    log_start: int = 0
    recovery_point: int = 0
    high_watermark: int = 0
    unsynced_from: int | None = None
    is_clean: bool = False


class CheckpointReader:
    """Reader of checkpoints; each file is read once, on first use."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._read: dict[str, dict[TopicPartition, int]] = {}

    def read(self, path: str, partition: TopicPartition | None) -> CheckpointedEnds:
        """Return the checkpointed offsets for a directory that is named after its partition."""
        if partition is None or path.rpartition("/")[2] != str(partition):
            return CheckpointedEnds()
        log_directory = directory_of(path)
        names = (LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)
        found = [self._offsets(f"{log_directory}/{name}").get(partition, 0) for name in names]
        is_clean = exists(self._files, f"{log_directory}/{CLEAN_SHUTDOWN}")
        log_start, recovery_point, high_watermark = found
        ends = CheckpointedEnds(log_start, recovery_point, high_watermark, is_clean=is_clean)
        if is_clean or not exists(self._files, f"{log_directory}/{RECOVERY_POINTS}"):
            return ends
        return ends._replace(unsynced_from=ends.recovery_point)

    def _offsets(self, path: str) -> dict[TopicPartition, int]:
        if path not in self._read:
            try:
                self._read[path] = dict(read_offset_checkpoint(self._files, path))
            except DamagedFileError:  # reported as a finding of the log directory
                self._read[path] = {}
        return self._read[path]


def check_ends(
    path: str, ends: CheckpointedEnds, *, log_end: int, cleaned_to: int = 0
) -> Iterator[VerifyFinding]:
    """Yield the checkpointed offsets that are beyond the end of the log."""
    if cleaned_to > log_end:
        yield damage(
            path,
            "the cleaner's checkpoint is beyond the end of the log: it explains no missing offset",
            remedy=f"{LOST}; or correct its line in {CLEANER_OFFSETS}",
            expected=f"at most {log_end}",
            found=cleaned_to,
        )
    if ends.log_start > log_end:
        yield damage(
            path,
            "the log start offset is beyond the end: a broker would delete the log at startup",
            remedy=f"correct its line in {LOG_START_OFFSETS}, or restore the missing segments",
            expected=f"at most {log_end}",
            found=ends.log_start,
        )
    if ends.recovery_point > log_end:
        yield damage(
            path,
            "fsynced records are missing at the end",
            remedy=LOST,
            first_offset=log_end,
            end_offset=ends.recovery_point,
        )
    elif ends.high_watermark > log_end:
        yield note(
            path,
            "records below the high watermark are missing at the end",
            remedy=LOST,
            is_unverified=ends.unsynced_from is None,
            first_offset=log_end,
            end_offset=ends.high_watermark,
        )
