"""Everything on disk verified: partitions, whole log directories, single segments.

    directory of a partition   all of it
    log directory              its checkpoints, its metadata, and all of its partitions
    file of a segment          that segment, as far as its own files tell

Nothing is written, and whoever owns the files may go on writing. Paths are absolute.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from cordwood.core.errors import DamagedFileError, SettingError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.records.sweep import PlainSweeper, Sweeper
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.meta_properties import read_meta_properties
from cordwood.storage.reader_place import partition_of
from cordwood.workbench.findings import Finding, Verification, VerifiedPartition, of_file
from cordwood.workbench.metadata_found import read_own_metadata
from cordwood.workbench.places import Place, is_log_directory, places_at
from cordwood.workbench.settings_found import Cleanup, SettingsFinder
from cordwood.workbench.verify_ends import Checkpoints
from cordwood.workbench.verify_partition import SaidBeside, verify_partition
from cordwood.workbench.verify_segment import VerifyTools
from cordwood.workbench.verify_topics import check_topic_ids

_CHECKPOINTS: Final = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)


class Beside:
    """What is said of partitions outside of their directories, each file of it read once."""

    def __init__(self, files: Files, settings: SettingsFinder | None = None) -> None:
        self._finder = SettingsFinder(files) if settings is None else settings
        self._checkpoints = Checkpoints(files)

    def of(self, path: str) -> SaidBeside:
        """Return what is said of the partition in a directory."""
        partition = partition_of(path)
        return SaidBeside(
            self._checkpoints.of(path, partition), _cleanup(self._finder, path, partition)
        )


def verify(
    files: Files,
    paths: Iterable[str],
    *,
    settings: SettingsFinder | None = None,
    sweeper: Sweeper | None = None,
    tell: Callable[[int], object] = lambda _size: None,
) -> Verification:
    """Verify what is at some paths; LogDirectoryError where there is nothing to verify.

    `settings` say which topics are compacted. `tell` hears of every byte of the logs that has been
    checked.
    """
    tools = VerifyTools(sweeper=sweeper or PlainSweeper(), tell=tell)
    partitions: list[VerifiedPartition] = []
    findings: list[Finding] = []
    beside = Beside(files, settings)
    for path in paths:
        findings += check_beside(files, path)
        partitions += (
            verify_place(place, beside=beside, tools=tools) for place in places_at(files, path)
        )
    return Verification(partitions=tuple(partitions), findings=tuple(findings))


def check_beside(files: Files, path: str) -> Iterator[Finding]:
    """Yield what is wrong with the files of a log directory that are no partition's."""
    if is_log_directory(files, path):
        yield from _check_log_directory(files, path)


def verify_place(place: Place, *, beside: Beside, tools: VerifyTools) -> VerifiedPartition:
    """Verify one partition, or of it one segment."""
    reader, only = place
    path = reader.source.path
    said = beside.of(path)
    return verify_partition(reader, partition_of(path), tools=tools, only=only, said=said)


def _check_log_directory(files: Files, path: str) -> Iterator[Finding]:
    reads: list[Callable[[], object]] = [
        *(partial(read_offset_checkpoint, files, f"{path}/{name}") for name in _CHECKPOINTS),
        partial(read_meta_properties, files, path),
        partial(read_own_metadata, files, path),
    ]
    for read in reads:
        try:
            read()
        except DamagedFileError as error:
            yield of_file(error)
    yield from check_topic_ids(files, path)


def _cleanup(finder: SettingsFinder, path: str, partition: TopicPartition | None) -> Cleanup:
    """Return whether a partition is compacted; of a directory with another name only what is given.

    Nobody knows where what says so cannot be read.
    """
    is_named = partition is not None and path.rpartition("/")[2] == str(partition)
    topic = partition.topic if partition is not None and is_named else None
    try:
        return finder.of(directory_of(path), topic).cleanup
    except (DamagedFileError, SettingError):
        return Cleanup()
