"""A log's end held against what its log directory's checkpoints say that it has reached.

    log start        beyond the end     damage   a broker removes all of the log at its next start
    recovery point   beyond the end     damage   what was synced is missing
    high watermark   beyond the end     note     what readers have seen is missing; a power loss
                                                 may take what was not synced

Checkpoints are read before the log is, which only grows meanwhile, or is truncated: then they are
written anew. What lies above the recovery point of a log directory without the mark of a clean stop
need not be on disk: its owner is at work, or has died and finds out at its next start.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.storage.atomic import directory_of, exists
from cordwood.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.clean_shutdown import CLEAN_SHUTDOWN
from cordwood.workbench.findings import LOST, Finding, damage, note


class SaidEnds(NamedTuple):
    """What the checkpoints beside a partition say of it; 0 where they say nothing.

    From `unsynced_from` on, None: nowhere, files of the log may lag behind each other.
    """

    log_start: int = 0
    recovery_point: int = 0
    high_watermark: int = 0
    unsynced_from: int | None = None


class Checkpoints:
    """The checkpoints of log directories, each read when it is first asked for."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._read: dict[str, dict[TopicPartition, int]] = {}

    def of(self, path: str, partition: TopicPartition | None) -> SaidEnds:
        """Return what is said of a partition's directory; of one with another name nothing is."""
        if partition is None or path.rpartition("/")[2] != str(partition):
            return SaidEnds()
        beside = directory_of(path)
        names = (LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)
        found = (self._offsets(f"{beside}/{name}").get(partition, 0) for name in names)
        said = SaidEnds(*found)
        if not exists(self._files, f"{beside}/{RECOVERY_POINTS}"):
            return said
        is_clean = exists(self._files, f"{beside}/{CLEAN_SHUTDOWN}")
        return said._replace(unsynced_from=None if is_clean else said.recovery_point)

    def _offsets(self, path: str) -> dict[TopicPartition, int]:
        if path not in self._read:
            try:
                self._read[path] = dict(read_offset_checkpoint(self._files, path))
            except DamagedFileError:  # which is a finding of the log directory
                self._read[path] = {}
        return self._read[path]


def check_ends(path: str, said: SaidEnds, *, log_end: int) -> Iterator[Finding]:
    """Yield what contradicts the end that the log in a partition's directory was found to have."""
    if said.log_start > log_end:
        yield damage(
            path,
            "the log starts beyond its end: a broker removes all of it when it starts",
            remedy=f"correct its line in {LOG_START_OFFSETS}, or restore what is missing",
            expected=f"at most {log_end}",
            found=said.log_start,
        )
    if said.recovery_point > log_end:
        yield damage(
            path,
            "records that were synced are missing at the end",
            remedy=LOST,
            first_offset=log_end,
            end_offset=said.recovery_point,
        )
    elif said.high_watermark > log_end:
        yield note(
            path,
            "records below the high watermark are missing at the end",
            remedy=LOST,
            first_offset=log_end,
            end_offset=said.high_watermark,
        )
