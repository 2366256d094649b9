"""Logs for tests: a harness with files, a clock and randomness, and record sets to append."""

from collections.abc import Iterable

from cordwood.core.ports import Ports
from cordwood.core.types import Offset, PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import PlainInspector
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.file_names import TXN_INDEX, segment_name
from cordwood.storage.files.header_scan import headers
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendContext, AppendResult
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.log.log_read import FetchIsolation, LogRead
from cordwood.storage.log_config import DELETE, LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import DEFAULT_START_MS, VirtualClock

NOW = DEFAULT_START_MS
DIRECTORY = "/d/t-0"
PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
SMALL = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


def fives(
    *,
    retention_bytes: int = -1,
    retention_ms: int = -1,
    cleanup_policy: frozenset[str] = frozenset({DELETE}),
) -> LogConfig:
    """Return the config of a log with five records a segment."""
    return LogConfig(
        segment_bytes=5 * len(batch()),
        segment_index_bytes=1200,
        index_interval_bytes=0,
        retention_bytes=retention_bytes,
        retention_ms=retention_ms,
        cleanup_policy=cleanup_policy,
    )


class KeptDeletions:
    """Deletions that are recorded and never made."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.delays_ms: list[int] = []

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        self.paths += paths
        self.delays_ms.append(delay_ms)


class LogHarness:
    """A log directory in memory, its clock, and the recorded deletions."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.files.make_directory("/d")
        self.files.sync_directory("/")
        self.deletions = KeptDeletions()
        self.random = SeededRandom(1)
        self.producers = ProducerStateManagerConfig(is_verifying_transactions=False)
        self.striders: TailScanners = no_tail_scanner

    def ports(self) -> Ports:
        return Ports(files=self.files, clock=self.clock, random=self.random)

    def table(self) -> OpenFileCache:
        """Return a new cache without open files."""
        return OpenFileCache(self.files, 10)

    def open(
        self,
        config: LogConfig = SMALL,
        *,
        is_clean: bool = True,
        recovery_point: int = 0,
        log_start: int = 0,
        high_watermark: int = 0,
    ) -> Log:
        """Open the log of DIRECTORY with these checkpointed offsets."""
        place = LogPlace(
            partition=PARTITION,
            directory=DIRECTORY,
            config=config,
            is_clean=is_clean,
            recovery_point=recovery_point,
            log_start=log_start,
            high_watermark=high_watermark,
            producers=self.producers,
        )
        return Log.open(
            place,
            self.ports(),
            table=self.table(),
            deletions=self.deletions,
            recovery=RecoveryOptions(striders=self.striders),
        )

    def bytes_of(self, name: str) -> bytes:
        """Return the content of a file of the log's directory; empty if there is none."""
        if name not in self.files.list(DIRECTORY):
            return b""
        file = self.files.open(f"{DIRECTORY}/{name}")
        return file.pread(file.size, 0)

    def aborted(self, base_offset: int = 0) -> list[AbortedTxn]:
        """Return the entries of a segment's transaction index."""
        data = self.bytes_of(segment_name(Offset(base_offset), TXN_INDEX))
        return list(TransactionIndex(base_offset, InMemoryEntries(data, ABORTED_TXN_SIZE)).read())

    def names(self, ending: str = "") -> list[str]:
        """Return the names in the log's directory, without leading zeros."""
        names = (name.lstrip("0") for name in self.files.list(DIRECTORY) if name.endswith(ending))
        return [f"0{name}" if name.startswith(".") else name for name in names]


def opened(config: LogConfig = SMALL) -> Log:
    """Return a new log in a harness of its own."""
    return LogHarness().open(config)


def batch(
    count: int = 1,
    *,
    at: int = 0,
    epoch: int = -1,
    timestamp: int = NOW,
    value: bytes = b"value",
    fields: BatchFields | None = None,
) -> bytearray:
    """Return a batch of equal records."""
    fields = fields or BatchFields(base_offset=at, partition_leader_epoch=epoch)
    builder = BatchBuilder(fields)
    for _ in range(count):
        builder.append(b"key", value, timestamp=timestamp)
    return builder.build()


def timed(*timestamps: int) -> bytearray:
    """Return a batch whose records have these times."""
    builder = BatchBuilder(BatchFields())
    for timestamp in timestamps:
        builder.append(b"key", b"value", timestamp=timestamp)
    return builder.build()


def produced(
    sequence: int,
    count: int = 1,
    *,
    producer: tuple[int, int] = (1, 0),
    at: int = 0,
    is_transactional: bool = False,
) -> bytearray:
    """Return a batch of a producer, an id and an epoch."""
    fields = BatchFields(
        base_offset=at,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    return batch(count, fields=fields)


def marker(
    *,
    is_commit: bool = False,
    producer: tuple[int, int] = (1, 0),
    at: int = 0,
    coordinator_epoch: int = 0,
) -> bytearray:
    """Return the batch that ends a transaction."""
    fields = BatchFields(base_offset=at, producer_id=producer[0], producer_epoch=producer[1])
    return control_batch(EndTransaction(is_commit, coordinator_epoch), fields, timestamp=NOW)


def interleaved() -> list[bytearray]:
    """Return batches of four transactional producers and of none, up to offset 90.

    Producers 1 and 2 abort, at 29 and 74; 3 and 4 commit, at 58 and 89.
    """
    story: tuple[tuple[int, int | bool], ...] = (
        *((1, 5), (0, 3), (2, 2), (1, 4), (3, 3), (0, 2), (1, 10), (1, False)),
        *((2, 6), (4, 3), (0, 10), (3, 9), (3, True), (4, 8), (2, 7), (2, False)),
        *((0, 10), (4, 4), (4, True)),
    )
    found, at = [], 0
    for producer_id, step in story:
        producer = (producer_id, 0)
        if isinstance(step, bool):
            found.append(marker(is_commit=step, producer=producer, at=at))
        elif producer_id:
            found.append(produced(at, step, producer=producer, at=at, is_transactional=True))
        else:
            found.append(batch(step, at=at, epoch=0))
        at += int(step) or 1
    return found


def lead(
    log: Log, *sets: bytes | bytearray, epoch: int = 0, origin: AppendOrigin = AppendOrigin.CLIENT
) -> AppendResult:
    """Append record sets as a leader, each in its own call; return the last result."""
    results = [
        log.append_as_leader(
            bytearray(each),
            leader_epoch=epoch,
            inspector=PlainInspector(),
            context=AppendContext(origin),
        )
        for each in sets
    ]
    return results[-1]


def follow(log: Log, *batches: bytes | bytearray, epoch: int = 0) -> AppendResult:
    """Append batches as a follower, in one record set."""
    return log.append_as_follower(b"".join(batches), leader_epoch=epoch)


def filled(log: Log, count: int, *, epoch: int = 0) -> Log:
    """Append single records, advance the high watermark, and return the log."""
    for _ in range(count):
        lead(log, batch(), epoch=epoch)
    log.set_high_watermark(log.bounds.log_end)
    log.epoch_file.save()
    return log


def read(
    log: Log,
    offset: int,
    max_bytes: int = 1 << 20,
    *,
    isolation: FetchIsolation = FetchIsolation.LOG_END,
    min_one: bool = False,
) -> LogRead:
    return log.read(offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)


def bytes_of(found: LogRead) -> bytes:
    return b"" if found.slice is None else bytes(found.slice.read())


def headers_of(data: bytes) -> list[BatchHeader]:
    """Return the headers of the whole batches in these bytes."""
    return list(headers(lambda length, at: data[at : at + length], 0, len(data)))


def offsets(found: LogRead) -> list[tuple[int, int]]:
    """Return the first and the last offset of each whole batch."""
    return [(each.base_offset, each.last_offset) for each in headers_of(bytes_of(found))]


def bases(log: Log) -> list[int]:
    """Return the base offsets of the segments."""
    return [segment.base_offset for segment in log.segments]
