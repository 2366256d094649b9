"""Partitions in memory to verify, and functions that return the findings."""

from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.findings import Severity, VerifiedPartition
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, filled, follow, interleaved

#: Segments of a few batches, with an entry a batch.
FEW = LogConfig(segment_bytes=600, segment_index_bytes=1200, index_interval_bytes=0)


def healthy(config: LogConfig = FEW) -> MemoryFiles:
    """Return a closed log of transactions, and of single records from offset 90 to 109."""
    place = LogHarness()
    log = place.open(config)
    for each in interleaved():
        follow(log, each)
    filled(log, 20).close()
    return place.files


def verified(files: MemoryFiles, path: str = DIRECTORY) -> VerifiedPartition:
    (found,) = verify(files, [path]).partitions
    return found


def damages(files: MemoryFiles, path: str = DIRECTORY) -> list[tuple[str, str]]:
    """Return file and cause of each damage."""
    return _findings(verified(files, path), Severity.DAMAGE)


def notes(files: MemoryFiles, path: str = DIRECTORY) -> list[tuple[str, str]]:
    return _findings(verified(files, path), Severity.NOTE)


def _findings(found: VerifiedPartition, severity: Severity) -> list[tuple[str, str]]:
    return [
        (each.path.rpartition("/")[2].lstrip("0") or "0", each.cause)
        for each in found.findings
        if each.severity is severity
    ]
