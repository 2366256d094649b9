"""Verification of log directories, partitions and single segments.

    directory of a partition   all of its files
    log directory              its checkpoints, its metadata, and all of its partitions
    file of a segment          the files of that segment

It writes no file, and a broker may keep writing meanwhile. Paths are absolute.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from cordwood.core.counts import first_names
from cordwood.core.errors import DamagedFileError, SettingError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offset_checkpoint,
)
from cordwood.storage.checkpoints.meta_properties import read_meta_properties
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.metadata.metadata_lookup import read_own_metadata
from cordwood.storage.reader.path_resolution import foreign_directories, partition_of
from cordwood.workbench.file_window import OnBytes, ignore_bytes
from cordwood.workbench.partition_paths import PartitionTarget, find_targets, is_log_directory
from cordwood.workbench.topic_settings_lookup import CleanupPolicy, SettingsFinder
from cordwood.workbench.verify.checkpoint_checks import CheckpointReader
from cordwood.workbench.verify.findings import (
    Verification,
    VerifiedPartition,
    VerifyFinding,
    file_finding,
    note,
)
from cordwood.workbench.verify.partition_verification import PartitionContext, verify_partition
from cordwood.workbench.verify.segment_verification import VerifyOptions
from cordwood.workbench.verify.topic_id_checks import check_topic_ids

_CHECKPOINTS: Final = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)


class PartitionContexts:
    """Reader of the facts about partitions from outside their directories; reads each file once."""

    def __init__(self, files: Files, settings: SettingsFinder | None = None) -> None:
        self._finder = SettingsFinder(files) if settings is None else settings
        self._checkpoints = CheckpointReader(files)

    def read(self, path: str) -> PartitionContext:
        """Return the facts about the partition in a directory."""
        partition = partition_of(path)
        return PartitionContext(
            self._checkpoints.read(path, partition), _cleanup(self._finder, path, partition)
        )


def verify(
    files: Files,
    paths: Iterable[str],
    *,
    settings: SettingsFinder | None = None,
    checker: BatchChecker | None = None,
    on_bytes: OnBytes = ignore_bytes,
) -> Verification:
    """Verify the logs at some paths; raise LogDirectoryError if a path has none.

    `settings` decide which topics are compacted. `on_bytes` is called with the number of bytes of
    the logs as they are checked.
    """
    options = VerifyOptions(checker=checker or PlainBatchChecker(), on_bytes=on_bytes)
    partitions: list[VerifiedPartition] = []
    findings: list[VerifyFinding] = []
    contexts = PartitionContexts(files, settings)
    for path in paths:
        findings += check_log_directory(files, path)
        partitions += (
            verify_target(target, contexts=contexts, options=options)
            for target in find_targets(files, path)
        )
    return Verification(partitions=tuple(partitions), findings=tuple(findings))


def check_log_directory(files: Files, path: str) -> Iterator[VerifyFinding]:
    """Yield findings about the files of a log directory itself; none for other paths."""
    if is_log_directory(files, path):
        yield from _check_log_directory(files, path)


def verify_target(
    target: PartitionTarget, *, contexts: PartitionContexts, options: VerifyOptions
) -> VerifiedPartition:
    """Verify one partition, or one segment of it."""
    reader, only = target
    path = reader.source.path
    context = contexts.read(path)
    return verify_partition(reader, partition_of(path), options=options, only=only, context=context)


def _check_log_directory(files: Files, path: str) -> Iterator[VerifyFinding]:
    reads: list[Callable[[], object]] = [
        *(partial(read_offset_checkpoint, files, f"{path}/{name}") for name in _CHECKPOINTS),
        partial(read_meta_properties, files, path),
        partial(read_own_metadata, files, path),
    ]
    for read in reads:
        try:
            read()
        except DamagedFileError as error:
            yield file_finding(error)
    yield from check_topic_ids(files, path)
    foreign = foreign_directories(files, path)
    if foreign:
        yield note(
            path,
            f"directories that do not belong to a partition: {first_names(foreign)}",
            remedy="move them away before a broker starts: Kafka rejects the log directory",
        )


def _cleanup(finder: SettingsFinder, path: str, partition: TopicPartition | None) -> CleanupPolicy:
    """Return the cleanup policy of a partition, as far as it is known.

    A directory that is not named after its partition has only given settings. Unreadable metadata
    or settings make the policy unknown.
    """
    is_named = partition is not None and path.rpartition("/")[2] == str(partition)
    topic = partition.topic if partition is not None and is_named else None
    try:
        return finder.find(directory_of(path), topic).cleanup
    except (DamagedFileError, SettingError):
        return CleanupPolicy()
