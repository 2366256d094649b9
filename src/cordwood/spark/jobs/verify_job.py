"""The job `verify`: verification of log directories, partitions and segment files in tasks.

    driver   verifies the files outside of partitions; lists the partitions with their sizes
    task     verifies one large partition, or several small ones

The findings are those of `cordwood.workbench.verify`, in the same order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.records.kernels import batch_checker
from cordwood.spark.jobs.task_packing import pack_tasks, total_bytes
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, run_tasks
from cordwood.storage.files.file_names import LOG
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.workbench.partition_paths import PartitionTarget, find_targets
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verdicts import with_verdict
from cordwood.workbench.verify.findings import Verification, VerifiedPartition, VerifyFinding
from cordwood.workbench.verify.segment_verification import VerifyOptions
from cordwood.workbench.verify.verify import PartitionContexts, check_log_directory, verify_target

#: Most bytes of small partitions in one task.
TASK_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """Settings that decide which topics are compacted if a log directory has no metadata."""

    config: Mapping[str, str] = field(default_factory=dict)
    broker_config: str | None = None

    def finder(self, files: Files) -> SettingsFinder:
        """Return a finder of topic settings."""
        return SettingsFinder(files, given=self.config, broker_config=self.broker_config)


class PartitionToVerify(NamedTuple):
    """A partition directory, or one of its segments, by base offset.

    `number` is the position in the list of all partitions.
    """

    number: int
    path: str
    only: int | None
    size: int


def verify_paths(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    settings: VerifySettings,
    progress: Progress = NO_PROGRESS,
) -> Verification:
    """Verify paths; raise LogDirectoryError if a path has nothing to verify."""
    files = SystemFiles()
    findings: list[VerifyFinding] = []
    found: list[PartitionToVerify] = []
    for path in paths:
        findings += check_log_directory(files, path)
        found += _places(files, path, first=len(found))
    progress.begin("verify", total_bytes(found))
    work = partial(verify_partitions, settings=settings)
    parts = run_tasks(spark, pack_partitions(found), work=work, progress=progress)
    verified = {number: each for part in parts for number, each in part.items()}
    partitions = tuple(verified[place.number] for place in found)
    return Verification(partitions=partitions, findings=tuple(findings))


def pack_partitions(places: Iterable[PartitionToVerify]) -> list[list[PartitionToVerify]]:
    """Return the partitions of each task: large partitions first, small ones packed together."""
    return pack_tasks(sorted(places, key=lambda each: each.size, reverse=True), TASK_BYTES)


def _places(files: Files, path: str, *, first: int) -> Iterator[PartitionToVerify]:
    for number, place in enumerate(find_targets(files, path), first):
        yield PartitionToVerify(number, place.reader.source.path, place.only, _size(place))


def _size(place: PartitionTarget) -> int:
    """Return the approximate bytes of the log files to verify."""
    reader, only = place
    listed = reader.list_segments()
    names = [each.name(LOG) for each in listed if only in (None, each.base_offset)]
    return reader.retry_on_change(lambda: sum(reader.source.stat(name).size for name in names))


def verify_partitions(
    places: Sequence[PartitionToVerify], advance: AdvanceProgress, *, settings: VerifySettings
) -> dict[int, VerifiedPartition]:
    """Return the findings of each partition, by its number."""
    files = SystemFiles()
    contexts = PartitionContexts(files, settings.finder(files))
    options = VerifyOptions(checker=batch_checker(), on_bytes=advance)
    found = {
        number: verify_target(
            PartitionTarget(reader_of(files, path), only), contexts=contexts, options=options
        )
        for number, path, only, _ in places
    }
    return {
        number: with_verdict(files, each, checker=options.checker) for number, each in found.items()
    }
