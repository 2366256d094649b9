"""A hurt directory is salvaged in memory, and what comes out is held against what was written."""

from collections.abc import Iterable
from typing import NamedTuple

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch import RecordBatch
from cordwood.records.stream import batches
from cordwood.storage.atomic import read_whole
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.testing.clock import VirtualClock
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.workbench.salvage import SalvageTools, salvage
from cordwood.workbench.salvage_report import Offsets, SalvageReport
from tests.corruption.faults import HurtLog
from tests.corruption.healthy import PARTITION, HealthyLog, WrittenRecord

SOURCE = f"/source/{PARTITION}"
SMALL = LogConfig(segment_bytes=1 << 14, segment_index_bytes=1200)

#: Here records of one batch may lie in another, where those have their offsets: nobody can decide.
RIVALLED = frozenset({"swapped_blocks"})

#: Here nothing is damaged that is left, as in a compacted log: what is missing is told as gaps.
LIKE_COMPACTED = frozenset({"lost_segment"})


class Read(NamedTuple):
    """A record as it came out."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Rescue(NamedTuple):
    """What came out, by offset, and what was said of it."""

    records: dict[int, Read]
    report: SalvageReport
    files: MemoryFiles


class _NoDeletions:
    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        raise AssertionError(paths)


def files_of(hurt: HurtLog) -> MemoryFiles:
    """Return a file system that holds a hurt directory."""
    files = MemoryFiles(VirtualClock())
    files.make_directory("/source")
    files.make_directory(SOURCE)
    for folder, contents in ((SOURCE, hurt.files), ("/source", hurt.beside)):
        for name, data in contents.items():
            files.create(f"{folder}/{name}").append(data)
    return files


def rescued(hurt: HurtLog) -> Rescue:
    """Salvage, and read what came out."""
    files = files_of(hurt)
    tools = SalvageTools(files=files, clock=VirtualClock(), random=SeededRandom(1), config=SMALL)
    report = salvage(tools, SOURCE, out="/out")
    return Rescue(_records(files, report.path), report, files)


def loaded(rescue: Rescue, *, is_clean: bool = False) -> Log:
    """Load what came out: as after a crash, so that every batch is checked, or after a stop."""
    topic, number = PARTITION.split("-")
    place = LogPlace(
        partition=TopicPartition(TopicName(topic), PartitionId(int(number))),
        directory=rescue.report.path,
        config=SMALL,
        is_clean=is_clean,
        log_start=rescue.report.log_start,
    )
    tools = LogTools(
        table=FileTable(rescue.files, 8), random=SeededRandom(1), deletions=_NoDeletions()
    )
    return Log.open(place, tools, clock=VirtualClock())


def unforgivable(log: HealthyLog, hurt: HurtLog, rescue: Rescue) -> list[str]:
    """Return what a salvage must not do: lose what nothing touched, or keep quiet."""
    found = []
    gaps = rescue.report.gaps if hurt.kind in LIKE_COMPACTED else ()
    told = _all((*rescue.report.lost, *gaps), log.end)
    doubtful = _all(rescue.report.doubtful, log.end)
    for record in log.records:
        got = rescue.records.get(record.offset)
        is_same = got == record[:4]
        is_rivalled = hurt.kind in RIVALLED and record.offset in told | doubtful
        if not is_same and not _is_touched(record, hurt) and not is_rivalled:
            found.append(f"{record.offset} was not touched and is {got}")
        if got is None and record.offset not in told:
            found.append(f"{record.offset} is lost in silence")
        if got is not None and not is_same and record.offset not in doubtful:
            found.append(f"{record.offset} is another in silence")
    invented = set(rescue.records) - {record.offset for record in log.records} - doubtful
    return [*found, *(f"{offset} was never written" for offset in sorted(invented))]


def untouched_share(log: HealthyLog, hurt: HurtLog, rescue: Rescue) -> float:
    """Return how many of the records that nothing touched came out as they were."""
    untouched = [record for record in log.records if not _is_touched(record, hurt)]
    kept = [record for record in untouched if rescue.records.get(record.offset) == record[:4]]
    return len(kept) / len(untouched)


def _is_touched(record: WrittenRecord, hurt: HurtLog) -> bool:
    return any(
        touched.file == record.file and touched.start < stop and start < touched.end
        for touched in hurt.touched
        for start, stop in record.needs
    )


def _all(stretches: Iterable[Offsets], end: int) -> set[int]:
    return {
        offset
        for each in stretches
        for offset in range(each.first, (end if each.last is None else each.last) + 1)
    }


def _records(files: MemoryFiles, path: str) -> dict[int, Read]:
    found = [
        Read(record.offset, record.timestamp, record.key, record.value)
        for name in files.list(path)
        if name.endswith(".log")
        for batch in batches(read_whole(files, f"{path}/{name}"))
        if not (isinstance(batch, RecordBatch) and batch.is_control)
        for record in batch.records()
    ]
    return {read.offset: read for read in found}
