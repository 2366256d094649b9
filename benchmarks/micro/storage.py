"""How fast is a log written, found in, opened, recovered, next to what the machine can do at best?

    python -m benchmarks.micro.storage

- append: sets of 64 KB through the whole leader's path into the page cache, checks and numbering
  included; next to a plain file that is given the same bytes;
- lookups: one offset in a closed segment's index, and the batch that holds it, warm;
- recovery: 1 GB of 16 KB batches without a clean shutdown; next to reading and checksumming its
  bytes; of 1 KB and of 150 B batches, an idempotent producer's, with strides; next to batch by
  batch;
- opening: 10,000 segments of one log, and 10,000 logs without records.

Append and recovery are processor time; opening and lookups are time on the wall, which is what they
are waited for. To compare two commits, compare their ratios.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.figure import Bound, Figure
from benchmarks.micro.compression import payload
from cordwood.core.binary import crc32c
from cordwood.core.ports import Ports
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.kernels import inspector, tail_scanner
from cordwood.records.kernels.tail_scan import KernelTailScanner
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_checks import Inspector
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath

PARTITION = TopicPartition(TopicName("bench"), PartitionId(0))
APPEND_BYTES = 64 * 1024
RECOVERY_BATCH_BYTES = 16 * 1024
SLICES = 3
FILES_OPEN = 64
IDEMPOTENT = BatchFields(producer_id=1, producer_epoch=0, base_sequence=0)


class Kept:
    """A scheduler of deletions that deletes nothing during a benchmark."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None: ...


def figures(size: int = 256 * 1024 * 1024) -> list[Figure]:
    """Measure with logs of about `size` bytes, and many small ones in proportion."""
    many = max(10, min(10_000, size // 25_000))
    return [
        _appends(size),
        *_lookups(max(size // 4, 1 << 20)),
        _recovery(4 * size),
        *(_strides(max(size // 4, 1 << 20), batch_bytes) for batch_bytes in (1024, 150)),
        _many_segments(many),
        _many_logs(many),
    ]


def _appends(size: int) -> Figure:
    """Return the rate of appends, with a plain file as the peer."""
    reader, batch = inspector(), _batch(APPEND_BYTES)
    count = max(1, size // len(batch))
    ours, theirs = [], []
    for _ in range(SLICES):
        with _folder() as folder:
            log = _log(f"{folder}/bench-0")
            sets = [bytearray(batch) for _ in range(count)]
            ours.append(_cpu_seconds(partial(_append, log, sets, reader)))
            theirs.append(_cpu_seconds(partial(_write, folder, batch, count)))
    moved = count * len(batch) / 1e6
    return Figure(
        name="append 64 KB batches",
        value=moved / min(ours),
        unit="MB/s",
        peer="a plain file",
        peer_value=moved / min(theirs),
        ratio=min(theirs) / min(ours),
        goal=500,
        bound=Bound.VALUE,
    )


def _lookups(size: int) -> list[Figure]:
    """Return the time of finding an offset in a closed segment's index, and of reading there."""
    with _folder() as folder:
        log = _filled(f"{folder}/bench-0", size, APPEND_BYTES // 16)
        end = log.bounds.log_end
        log.close()
        log = _log(f"{folder}/bench-0", is_clean=True)
        offsets = [number * 7919 % end for number in range(5_000)]
        index = LogSegment.open(
            OpenFileCache(SystemFiles(), FILES_OPEN),
            SegmentPath(f"{folder}/bench-0", 0),
            config=LogConfig(),
            now_ms=0,
        ).files.offset_index

        def look() -> None:
            for offset in offsets:
                index.lookup(offset)

        def read() -> None:
            for offset in offsets:
                found = log.read(offset, max_bytes=1, isolation=FetchIsolation.LOG_END)
                if found.slice is not None:
                    found.slice.release()

        micros = [
            min(_wall_seconds(call) for _ in range(SLICES)) / len(offsets) * 1e6
            for call in (look, read)
        ]
    return [
        Figure(
            name="lookup in an index, warm", value=micros[0], unit="us", goal=20, bound=Bound.MOST
        ),
        Figure(name="batch found by offset, warm", value=micros[1], unit="us"),
    ]


def _recovery(size: int) -> Figure:
    """Return the time of a recovery, with reading and checksumming as the peer."""
    with _folder() as folder:
        log = _filled(f"{folder}/bench-0", size, RECOVERY_BATCH_BYTES)
        log.forget_files()
        seconds = min(
            _cpu_seconds(lambda: _log(f"{folder}/bench-0").forget_files()) for _ in range(SLICES)
        )
        paths = sorted(Path(folder).glob("bench-0/*.log"))
        least = min(_cpu_seconds(lambda: _checksum(paths)) for _ in range(SLICES))
    scale = (1 << 30) / size
    return Figure(
        name="recovery of 1 GB in 16 KB batches",
        value=seconds * scale,
        unit="s",
        peer="read and checksum",
        peer_value=least * scale,
        ratio=least / seconds,
        goal=1,
        bound=Bound.MOST,
    )


def _strides(size: int, batch_bytes: int) -> Figure:
    """Return the time of recovering many small batches with strides, and without."""
    with _folder() as folder:
        _copied(f"{folder}/bench-0", size, batch_bytes).forget_files()

        def recover(striders: TailScanners) -> None:
            _log(f"{folder}/bench-0", striders=striders).forget_files()

        strides = KernelTailScanner()
        ours = min(_cpu_seconds(lambda: recover(lambda _: strides)) for _ in range(SLICES))
        theirs = min(_cpu_seconds(lambda: recover(no_tail_scanner)) for _ in range(SLICES))
    scale = (1 << 30) / size
    return Figure(
        name=f"recovery of 1 GB in {batch_bytes} B batches",
        value=ours * scale,
        unit="s",
        peer="batch by batch",
        peer_value=theirs * scale,
        ratio=theirs / ours,
    )


def _many_segments(count: int) -> Figure:
    """Return the time of opening a log of many segments."""
    with _folder() as folder:
        small = LogConfig(segment_bytes=200, segment_index_bytes=240)
        log = _log(f"{folder}/bench-0", config=small)
        _append(log, [bytearray(_batch(150)) for _ in range(count)], inspector())
        log.close()
        seconds = min(
            _wall_seconds(lambda: _log(f"{folder}/bench-0", is_clean=True, config=small))
            for _ in range(SLICES)
        )
    scale = 10_000 / count
    return Figure(
        name="opening 10,000 segments", value=seconds * scale, unit="s", goal=2, bound=Bound.MOST
    )


def _many_logs(count: int) -> Figure:
    """Return the time of opening many logs without records."""
    with _folder() as folder:
        for number in range(count):
            _log(f"{folder}/bench-{number}").close()

        def open_all() -> None:
            table = OpenFileCache(SystemFiles(), FILES_OPEN)
            for number in range(count):
                _log(f"{folder}/bench-{number}", is_clean=True, table=table)

        seconds = min(_wall_seconds(open_all) for _ in range(SLICES))
    scale = 10_000 / count
    return Figure(
        name="opening 10,000 empty logs", value=seconds * scale, unit="s", goal=5, bound=Bound.MOST
    )


# -- what is measured


def _log(
    path: str,
    *,
    is_clean: bool = False,
    config: LogConfig | None = None,
    table: OpenFileCache | None = None,
    striders: TailScanners = tail_scanner,
) -> Log:
    ports = Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom())
    place = LogPlace(
        partition=PARTITION, directory=path, config=config or LogConfig(), is_clean=is_clean
    )
    return Log.open(
        place,
        ports,
        table=table or OpenFileCache(ports.files, FILES_OPEN),
        deletions=Kept(),
        recovery=RecoveryOptions(striders=striders),
    )


def _filled(path: str, size: int, batch_bytes: int) -> Log:
    batch = _batch(batch_bytes)
    log = _log(path)
    for _ in range(max(1, size // len(batch))):
        _append(log, [bytearray(batch)], inspector())
    return log


def _copied(path: str, size: int, batch_bytes: int) -> Log:
    """Return a log of a producer's batches, all alike but for their offsets."""
    batch, log = RecordBatch(bytearray(_batch(batch_bytes, IDEMPOTENT))), _log(path)
    for _ in range(max(1, size // APPEND_BYTES)):
        copies, offset = bytearray(), int(log.bounds.log_end)
        while len(copies) + batch.size <= APPEND_BYTES:
            batch.set_base_offset(offset)
            copies += batch.view
            offset = batch.next_offset
        log.append_as_follower(copies, leader_epoch=0)
    return log


def _append(log: Log, sets: Iterable[bytearray], reader: Inspector) -> None:
    for data in sets:
        log.append_as_leader(data, leader_epoch=0, inspector=reader)


def _batch(size: int, fields: BatchFields = NO_FIELDS) -> bytes:
    """Return a batch of about `size` bytes in records of about 100, or one small record."""
    builder = BatchBuilder(fields)
    text = payload(size)
    while builder.count == 0 or builder.uncompressed_size + 130 < size:
        at = builder.count * 100
        builder.append(
            b"key-%08d" % builder.count, text[at : at + 100], timestamp=1_790_000_000_000
        )
    return bytes(builder.build())


def _write(folder: str, batch: bytes, count: int) -> None:
    with Path(folder, "plain").open("wb", buffering=0) as file:
        file.writelines(repeat(batch, count))


def _checksum(paths: Iterable[Path]) -> None:
    window = memoryview(bytearray(4 << 20))
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while size := file.readinto(window):
                crc32c(window[:size])


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def _cpu_seconds(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return max(process_time() - start, 1e-9)


def _wall_seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return max(perf_counter() - start, 1e-9)


if __name__ == "__main__":
    for figure in figures():
        print(figure)
