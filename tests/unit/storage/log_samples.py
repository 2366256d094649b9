"""Logs for tests: a place with files, a clock and chance, and the record sets that go into it."""

from collections.abc import Iterable

from cordwood.core.types import Offset, PartitionId, TopicName, TopicPartition
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.records.control import EndTransaction, control_batch
from cordwood.records.header import BatchHeader
from cordwood.records.inspect import PlainInspector
from cordwood.records.stride import Striders, no_strider
from cordwood.storage.appending import AppendResult, Sender
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import ABORTED_ENTRY_SIZE, AbortedEntry, HeldEntries, TransactionIndex
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import TXN_INDEX, segment_name
from cordwood.storage.origin import Origin
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.reading import Isolation, LogRead
from cordwood.storage.scan import headers
from cordwood.testing.clock import DEFAULT_START_MS, VirtualClock
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom

NOW = DEFAULT_START_MS
DIRECTORY = "/d/t-0"
PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
SMALL = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


class KeptDeletions:
    """Files that were given to be removed later; they stay."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.delays_ms: list[int] = []

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        self.paths += paths
        self.delays_ms.append(delay_ms)


class Place:
    """A log directory in memory, its clock, and what was to be deleted."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.files = MemoryFiles(self.clock)
        self.files.make_directory("/d")
        self.files.sync_directory("/")
        self.deletions = KeptDeletions()
        self.random = SeededRandom(1)
        self.producers = ProducerSettings(is_verifying_transactions=False)
        self.striders: Striders = no_strider

    def tools(self) -> LogTools:
        """Return new tools: no file is open."""
        table = FileTable(self.files, 10)
        return LogTools(
            table=table, random=self.random, deletions=self.deletions, striders=self.striders
        )

    def open(
        self,
        config: LogConfig = SMALL,
        *,
        is_clean: bool = True,
        recovery_point: int = 0,
        log_start: int = 0,
        high_watermark: int = 0,
    ) -> Log:
        """Open the log of DIRECTORY, with what checkpoints say of it."""
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
        return Log.open(place, self.tools(), clock=self.clock)

    def bytes_of(self, name: str) -> bytes:
        """Return what is in a file of the log's directory; nothing of one that is not there."""
        if name not in self.files.list(DIRECTORY):
            return b""
        file = self.files.open(f"{DIRECTORY}/{name}")
        return file.pread(file.size, 0)

    def aborted(self, base_offset: int = 0) -> list[AbortedEntry]:
        """Return the entries of a segment's transaction index."""
        data = self.bytes_of(segment_name(Offset(base_offset), TXN_INDEX))
        return list(TransactionIndex(base_offset, HeldEntries(data, ABORTED_ENTRY_SIZE)).read())

    def names(self, ending: str = "") -> list[str]:
        """Return the names in the log's directory, without leading zeros."""
        names = (name.lstrip("0") for name in self.files.list(DIRECTORY) if name.endswith(ending))
        return [f"0{name}" if name.startswith(".") else name for name in names]


def opened(config: LogConfig = SMALL) -> Log:
    """Return a new log in a place of its own."""
    return Place().open(config)


def batch(
    count: int = 1,
    *,
    at: int = 0,
    epoch: int = -1,
    timestamp: int = NOW,
    value: bytes = b"value",
    fields: BatchFields | None = None,
) -> bytearray:
    """Return a batch of records that are all alike."""
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
    """Return the batches of four producers' transactions, and of nobody, up to offset 90.

    Producers 1 and 2 abort theirs, at 29 and 74; 3 and 4 commit, at 58 and 89.
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
    log: Log, *sets: bytes | bytearray, epoch: int = 0, origin: Origin = Origin.CLIENT
) -> AppendResult:
    """Append sets as a leader, each in a call of its own, and return the last result."""
    results = [
        log.append_as_leader(
            bytearray(each), leader_epoch=epoch, inspector=PlainInspector(), sender=Sender(origin)
        )
        for each in sets
    ]
    return results[-1]


def follow(log: Log, *batches: bytes | bytearray, epoch: int = 0) -> AppendResult:
    """Append batches as a follower, all in one set."""
    return log.append_as_follower(b"".join(batches), leader_epoch=epoch)


def filled(log: Log, count: int, *, epoch: int = 0) -> Log:
    """Append single records, let readers see them, and return the log."""
    for _ in range(count):
        lead(log, batch(), epoch=epoch)
    log.set_high_watermark(log.bounds.log_end)
    return log


def read(
    log: Log,
    offset: int,
    max_bytes: int = 1 << 20,
    *,
    isolation: Isolation = Isolation.LOG_END,
    min_one: bool = False,
) -> LogRead:
    return log.read(offset, max_bytes=max_bytes, isolation=isolation, min_one=min_one)


def bytes_of(found: LogRead) -> bytes:
    return b"" if found.slice is None else bytes(found.slice.read())


def headers_of(data: bytes) -> list[BatchHeader]:
    """Return the headers of the whole batches in it."""
    return list(headers(lambda length, at: data[at : at + length], 0, len(data)))


def offsets(found: LogRead) -> list[tuple[int, int]]:
    """Return the first and the last offset of each whole batch."""
    return [(each.base_offset, each.last_offset) for each in headers_of(bytes_of(found))]


def bases(log: Log) -> list[int]:
    """Return where the segments begin."""
    return [segment.base_offset for segment in log.segments]
