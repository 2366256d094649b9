"""Demo of all parts, in numbers and pictures: records as bytes, columns, a log, a broker, and
Spark.

    make demo

Orders are written in each codec, read back as Arrow columns by the compiled kernels and by their
plain-Python twin, damaged on purpose, and written in the oldest format. Then a log is
written to a temporary folder, left as by a killed process, and opened again. A broker serves, is
killed while orders come in, and serves again. Two members of a consumer group share the orders. A
pipeline of Spark is killed half way, and an audit proves that each order is there once. Spark
joins, compacts, exports and audits the broker's logs; the result is a page, build/demo.html. The
figures are those of this machine and this run.
"""

import tempfile
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import cordwood
from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Ports
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchFields
from cordwood.records.columns import read_columns
from cordwood.records.decoder import Decoder, ReadRequest
from cordwood.records.kernels import decoder, inspector
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from examples.broker_demo import show_broker
from examples.demo_report import lines, page
from examples.groups_demo import show_groups
from examples.pipeline_demo import show_pipeline
from examples.shop import orders
from examples.spark_demo import run_story

RECORDS_A_BATCH = 160
BATCHES = 300
COPIES = 20
#: Orders for a group and for a pipeline.
SHARED = 16_000
BAR = 40
REPORT = Path("build", "demo.html")
COLUMNS = ("offset", "timestamp", "key", "value")


def segment(codec: cordwood.Codec) -> bytes:
    """Return the batches of a topic, one after the other, as they lie in a segment file."""
    out = bytearray()
    for index in range(BATCHES):
        first = index * RECORDS_A_BATCH
        builder = cordwood.BatchBuilder(BatchFields(base_offset=first, codec=codec))
        for key, value, timestamp in orders(first, RECORDS_A_BATCH):
            builder.append(key, value, timestamp=timestamp, headers=(("source", b"demo"),))
        out += builder.build()
    return bytes(out)


def timed_rows(data: bytes, reader: Decoder) -> tuple[int, float]:
    """Return how many rows a decoder found, and the seconds of processor time it took."""
    before = time.process_time()
    request = ReadRequest(columns=COLUMNS)
    rows = sum(batch.num_rows for batch in read_columns(data, reader, request=request))
    return rows, time.process_time() - before


def show_codecs(segments: dict[cordwood.Codec, bytes]) -> None:
    """Draw how large each codec leaves the same records, and how fast they are read."""
    records = RECORDS_A_BATCH * BATCHES
    whole = len(segments[cordwood.Codec.NONE])
    reader, plain = decoder(), PlainDecoder()
    print(f"\n{records:,} orders in {BATCHES} batches, read back as Arrow columns\n")
    print(f"  {'codec':7} {'on disk':{BAR + 9}} {'kernels':>16} {'plain Python':>16}   records/s")
    for codec, data in segments.items():
        timed_rows(data, reader)
        rows, seconds = timed_rows(data * COPIES, reader)
        slow_rows, slow_seconds = timed_rows(data, plain)
        assert rows == COPIES * slow_rows == COPIES * records
        bar = "█" * max(1, round(BAR * len(data) / whole))
        print(
            f"  {codec.kafka_name:7} {bar:{BAR}} {len(data) / 1e6:5.2f} MB"
            f" {rows / seconds:>16,.0f} {slow_rows / slow_seconds:>16,.0f}"
        )


def show_columns(data: bytes) -> None:
    """Compute on columns, without a Python object for a record."""
    table = pa.Table.from_batches(
        read_columns(data, decoder(), request=ReadRequest(columns=COLUMNS))
    )
    first, last = table["timestamp"][0], table["timestamp"][-1]
    keys = len(table["key"].unique())
    print(f"\n{table.num_rows:,} rows from {first} to {last}, {keys:,} keys; the first:\n")
    row = {name: column[0] for name, column in table.slice(0, 1).to_pydict().items()}
    print(f"  {row}")


def show_damage(data: bytes) -> None:
    """Change one byte in the middle of the segment and print the error."""
    broken = bytearray(data)
    broken[len(broken) // 2] ^= 0x01
    rows = 0
    try:
        for batch in read_columns(broken, decoder(), request=ReadRequest(columns=COLUMNS)):
            rows += batch.num_rows
    except BadRecordsError as error:
        print(f"\none bit flipped: {rows:,} good rows first, then\n")
        print(f"  {type(error).__name__}: {error}")
    else:
        raise SystemExit("the damage went unseen")


def show_formats(data: bytes) -> None:
    """Write the same records in the oldest format and read them again."""
    builder = LegacyBuilder(0, base_offset=0)
    for batch in cordwood.batches(data):
        for record in batch.records():
            builder.append(record.key, record.value, timestamp=record.timestamp)
    old = bytes(builder.build())
    offsets = [record.offset for batch in cordwood.batches(old) for record in batch.records()]
    assert all(before + 1 == after for before, after in pairwise(offsets))
    print(
        f"\nthe same records in message format 0 of Kafka 0.9: {len(old) / 1e6:.2f} MB"
        f" in place of {len(data) / 1e6:.2f}, offsets {offsets[0]} to {offsets[-1]:,}, no headers\n"
    )


def show_log(data: bytes) -> None:
    """Write a log to disk, let its process die with half a batch written, and recover it."""
    with tempfile.TemporaryDirectory() as folder:
        log = open_owned(folder)
        sets = [bytearray(batch.data) for batch in cordwood.batches(data)]
        reader = inspector()
        before = time.process_time()
        for each in sets:
            each[:8] = bytes(8)  # producers count from 0
            log.append_as_leader(each, leader_epoch=0, inspector=reader)
        seconds = time.process_time() - before
        log.flush()
        segments = sorted(Path(folder, "orders-0").glob("*.log"))
        with segments[-1].open("ab") as file:
            file.write(sets[0][:1000])
        print(
            f"{len(data) / 1e6:.1f} MB appended to a log at {len(data) / seconds / 1e6:,.0f} MB/s,"
            f" in {len(segments)} segments; then the process dies in the middle of a write:\n"
        )
        print(f"  {open_owned(folder).report}\n")
        view = cordwood.open_log(Path(folder, "orders-0"))
        rows = sum(batch.num_rows for batch in view.arrow(columns=["offset"]))
        print(
            f"  {view.offsets().log_end:,} offsets, {rows:,} rows read from its files as columns\n"
        )


def open_owned(folder: str) -> Log:
    """Open the log of orders in a folder, with the machine's own files, clock and chance."""
    files = SystemFiles()
    place = LogPlace(
        partition=TopicPartition(TopicName("orders"), PartitionId(0)),
        directory=f"{folder}/orders-0",
        config=LogConfig(segment_bytes=1 << 20),
    )
    ports = Ports(files=files, clock=SystemClock(), random=SystemRandom())
    return Log.open(place, ports, table=OpenFileCache(files, 16), deletions=Nothing())


def show_spark() -> None:
    """Let Spark work on the logs of a broker, and write down what was seen."""
    story = run_story()
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(page(story), encoding="utf-8")
    print(f"\na shop's records, by the broker and by Spark\n\n{lines(story)}\n")
    print(f"with pictures: {REPORT}")


class Nothing:
    """A log of one life deletes nothing."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None: ...


def main() -> None:
    """Run it all."""
    print(f"Cordwood {cordwood.__version__}: the bytes that producers send")
    segments = {codec: segment(codec) for codec in cordwood.Codec}
    show_codecs(segments)
    show_columns(segments[cordwood.Codec.ZSTD])
    show_damage(segments[cordwood.Codec.NONE])
    show_formats(segments[cordwood.Codec.NONE])
    show_log(segments[cordwood.Codec.NONE])
    show_broker((key, value) for key, value, _ in orders(0, RECORDS_A_BATCH * BATCHES))
    show_groups((key, value) for key, value, _ in orders(0, SHARED))
    show_pipeline((key, value) for key, value, _ in orders(0, SHARED))
    show_spark()


if __name__ == "__main__":
    main()
