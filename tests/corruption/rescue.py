"""Salvage of a damaged directory in memory, and the comparison with the written records."""

from collections.abc import Iterable
from typing import NamedTuple

from cordwood.core.ports import Ports
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage
from cordwood.workbench.salvage.salvage_report import ReportedOffsets, SalvageReport
from tests.corruption.faults import HurtLog
from tests.corruption.healthy import PARTITION, HealthyLog, WrittenRecord

SOURCE = f"/source/{PARTITION}"
SMALL = LogConfig(segment_bytes=1 << 14, segment_index_bytes=1200)

#: Kinds that move records of one batch into another one, where offsets may be ambiguous.
RIVALLED = frozenset({"swapped_blocks"})


class Read(NamedTuple):
    """A salvaged record."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Rescue(NamedTuple):
    """The salvaged records by offset, and the report."""

    records: dict[int, Read]
    report: SalvageReport
    files: MemoryFiles


class _NoDeletions:
    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        raise AssertionError(paths)


def files_of(hurt: HurtLog) -> MemoryFiles:
    """Return a file system with a damaged directory."""
    files = MemoryFiles(VirtualClock())
    files.make_directory("/source")
    files.make_directory(SOURCE)
    for folder, contents in ((SOURCE, hurt.files), ("/source", hurt.beside)):
        for name, data in contents.items():
            files.create(f"{folder}/{name}").append(data)
    return files


def rescued(hurt: HurtLog) -> Rescue:
    """Salvage a damaged directory, and read the result."""
    files = files_of(hurt)
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    report = salvage(ports, SOURCE, out="/out", options=SalvageOptions(config=SMALL))
    return Rescue(_records(files, report.path), report, files)


def loaded(rescue: Rescue, *, is_clean: bool = False) -> Log:
    """Load the result: as after a crash, which checks every batch, or as after a clean stop."""
    topic, number = PARTITION.split("-")
    place = LogPlace(
        partition=TopicPartition(TopicName(topic), PartitionId(int(number))),
        directory=rescue.report.path,
        config=SMALL,
        is_clean=is_clean,
        log_start=rescue.report.log_start,
    )
    ports = Ports(files=rescue.files, clock=VirtualClock(), random=SeededRandom(1))
    table = OpenFileCache(rescue.files, 8)
    return Log.open(place, ports, table=table, deletions=_NoDeletions())


def unforgivable(log: HealthyLog, hurt: HurtLog, rescue: Rescue) -> list[str]:
    """Return violations: untouched records that are lost, and losses that are not reported."""
    found = []
    reported = _all(rescue.report.lost, log.end)
    doubtful = _all(rescue.report.doubtful, log.end)
    for record in log.records:
        got = rescue.records.get(record.offset)
        is_same = got == record[:4]
        is_rivalled = hurt.kind in RIVALLED and record.offset in reported | doubtful
        if not is_same and not _is_touched(record, hurt) and not is_rivalled:
            found.append(f"{record.offset} was not touched, but is {got}")
        if got is None and record.offset not in reported:
            found.append(f"{record.offset} is lost without a report")
        if got is not None and not is_same and record.offset not in doubtful:
            found.append(f"{record.offset} is changed without a report")
    invented = set(rescue.records) - {record.offset for record in log.records} - doubtful
    return [*found, *(f"{offset} was never written" for offset in sorted(invented))]


def untouched_share(log: HealthyLog, hurt: HurtLog, rescue: Rescue) -> float:
    """Return the share of the untouched records that were salvaged unchanged."""
    untouched = [record for record in log.records if not _is_touched(record, hurt)]
    kept = [record for record in untouched if rescue.records.get(record.offset) == record[:4]]
    return len(kept) / len(untouched)


def _is_touched(record: WrittenRecord, hurt: HurtLog) -> bool:
    return any(
        touched.file == record.file and touched.start < stop and start < touched.end
        for touched in hurt.touched
        for start, stop in record.needs
    )


def _all(ranges: Iterable[ReportedOffsets], end: int) -> set[int]:
    return {
        offset
        for each in ranges
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
