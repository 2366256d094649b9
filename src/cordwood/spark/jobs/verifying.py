"""Verifies log directories, partitions and files of segments, many at a time.

    driver   what belongs to no single partition; which partitions there are, and how large
    task     a large partition, or many small ones

The findings are those of `cordwood.workbench.verify`, in its order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from cordwood.core.ports import Files
from cordwood.core.system import SystemFiles
from cordwood.records.kernels import sweeper
from cordwood.spark.jobs.chores import bytes_of, chores
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.running import Tell, run_tasks
from cordwood.storage.names import LOG
from cordwood.storage.reader_place import reader_of
from cordwood.workbench.findings import Finding, Verification, VerifiedPartition
from cordwood.workbench.places import Place, places_at
from cordwood.workbench.settings_found import SettingsFinder
from cordwood.workbench.verify import Beside, check_beside, verify_place
from cordwood.workbench.verify_segment import VerifyTools

#: Bytes of small partitions that one task takes together.
TASK_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Who says which topics are compacted, where no metadata beside the logs do."""

    config: Mapping[str, str] = field(default_factory=dict)
    broker_config: str | None = None

    def finder(self, files: Files) -> SettingsFinder:
        """Return who finds the settings of topics."""
        return SettingsFinder(files, given=self.config, broker_config=self.broker_config)


class VerifyPlace(NamedTuple):
    """A partition's directory, or of it the one segment with a base offset; its number, its size.

    The number says where in the list of all it stands.
    """

    number: int
    path: str
    only: int | None
    size: int


def verify(
    spark: SparkSession, paths: Sequence[str], *, settings: Settings, progress: Progress = UNSEEN
) -> Verification:
    """Verify what is at some paths; LogDirectoryError where there is nothing to verify."""
    files = SystemFiles()
    findings: list[Finding] = []
    found: list[VerifyPlace] = []
    for path in paths:
        findings += check_beside(files, path)
        found += _places(files, path, first=len(found))
    progress.begin("verify", bytes_of(found))
    work = partial(verify_places, settings=settings)
    parts = run_tasks(spark, packed(found), work=work, progress=progress)
    verified = {number: each for part in parts for number, each in part.items()}
    partitions = tuple(verified[place.number] for place in found)
    return Verification(partitions=partitions, findings=tuple(findings))


def packed(places: Iterable[VerifyPlace]) -> list[list[VerifyPlace]]:
    """Return what each task takes: the largest first, the small ones together."""
    return chores(sorted(places, key=lambda each: each.size, reverse=True), TASK_BYTES)


def _places(files: Files, path: str, *, first: int) -> Iterator[VerifyPlace]:
    for number, place in enumerate(places_at(files, path), first):
        yield VerifyPlace(number, place.reader.source.path, place.only, _size(place))


def _size(place: Place) -> int:
    """Return about how many bytes of logs there are to verify."""
    reader, only = place
    listed = reader.listed()
    names = [each.name(LOG) for each in listed if only in (None, each.base_offset)]
    return reader.patiently(lambda: sum(reader.source.stat(name).size for name in names))


def verify_places(
    places: Sequence[VerifyPlace], tell: Tell, *, settings: Settings
) -> dict[int, VerifiedPartition]:
    """Return what was found in each place, by its number."""
    files = SystemFiles()
    beside = Beside(files, settings.finder(files))
    tools = VerifyTools(sweeper=sweeper(), tell=tell)
    return {
        number: verify_place(Place(reader_of(files, path), only), beside=beside, tools=tools)
        for number, path, only, _ in places
    }
