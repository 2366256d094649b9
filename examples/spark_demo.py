"""Spark over the log: a shop's orders and customers, from a broker to an audited table.

    a broker       orders and customers are produced
    a job          both are read, joined, summed, and written back to a topic
    compaction     by Spark, of the customers' topic, verified; the job returns the same again
    export         the orders in a Parquet table, and its audit

The results go into a `Story`, the input of the report.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions

import cordwood
import cordwood.spark
from cordwood.compaction.cleaning_job import Verify
from cordwood.spark import jobs
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.spark.runtime.session import session
from examples.shop import orders, updates

if TYPE_CHECKING:
    from cordwood.spark.runtime.session import DataFrame, SparkSession

ORDERS = 200_000
UPDATES = 200_000
ORDER_PARTITIONS = 3
#: Deliveries that are waited for at a time, and a point in the picture of how fast it went.
CHUNK = 10_000
BUCKETS = 120
SEGMENT_BYTES = 2 << 20
ORDER = "order long, cents long"
CUSTOMER = "city string, tier string"


@dataclass(frozen=True, slots=True)
class Step:
    """A step over N records."""

    name: str
    records: int
    seconds: float

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.records / self.seconds


@dataclass(frozen=True, slots=True)
class LogPicture:
    """The content of a log: records in each of equal ranges of offsets, and its segments' bases."""

    end: int
    density: list[float]
    bases: list[int]
    size: int

    @property
    def records(self) -> int:
        """How many there are."""
        return round(sum(self.density) * self.end / len(self.density))


@dataclass(slots=True)
class Story:
    """The results of the demo."""

    steps: list[Step] = field(default_factory=list)
    #: Seconds since the first record, and how many had been written by then.
    written: list[tuple[float, int]] = field(default_factory=list)
    revenue: list[tuple[str, int, int]] = field(default_factory=list)
    before: LogPicture | None = None
    after: LogPicture | None = None
    certificate: str = ""
    audit: str = ""

    @contextmanager
    def step(self, name: str, records: int) -> Iterator[None]:
        """Take the time of what is done in the block."""
        began = time.perf_counter()
        yield
        self.steps.append(Step(name, records, time.perf_counter() - began))


def run_story() -> Story:
    """Run it all in a temporary folder."""
    story = Story()
    with (
        tempfile.TemporaryDirectory() as folder,
        session("cordwood demo", conf={"spark.sql.shuffle.partitions": "2"}) as spark,
    ):
        data, table = Path(folder, "kafka-logs"), str(Path(folder, "table"))
        cordwood.spark.register(spark)
        with broker(data) as running:
            produce(running.address, story)
            work(spark, data, running.address, story=story)
        compact(spark, data, story)
        export(spark, data, table, story=story)
    return story


def work(spark: "SparkSession", data: Path, address: str, *, story: Story) -> None:
    """Run Spark's part while the broker runs."""
    with story.step("Spark begins, and counts", ORDERS + UPDATES):
        count = cordwood.spark.scan(spark, str(data)).count()
    assert count == ORDERS + UPDATES, count
    with story.step("Spark joins, adds up, writes back", ORDERS + UPDATES):
        story.revenue = write_back(spark, data, address)


def broker(data: Path) -> cordwood.Broker:
    """A broker inside of this program; it keeps old records, and leaves cleaning to Spark."""
    config = {
        "log.segment.bytes": SEGMENT_BYTES,
        "log.retention.ms": -1,
        "log.cleaner.enable": False,
    }
    return cordwood.Broker(data=data, config=config)


def produce(address: str, story: Story) -> None:
    """Write both topics, and note how fast that goes."""
    with cordwood.Admin(address) as admin:
        admin.create_topic("orders", partitions=ORDER_PARTITIONS)
        admin.create_topic("customers", configs={"cleanup.policy": "compact"})
    sent = [("orders", each) for each in orders(0, ORDERS)]
    sent += [("customers", each) for each in updates(UPDATES)]
    story.written.append((0.0, 0))
    with (
        story.step("produced to the broker", len(sent)),
        cordwood.Producer(address) as producer,
    ):
        began = time.perf_counter()
        for written, (topic, (key, value, timestamp)) in enumerate(sent, start=1):
            producer.send(topic, value, key=key, timestamp_ms=timestamp)
            if written % CHUNK == 0:
                producer.flush()
                story.written.append((time.perf_counter() - began, written))


def write_back(spark: "SparkSession", data: Path, address: str) -> list[tuple[str, int, int]]:
    """Write what each city has spent to a topic, and return what is then in that topic."""
    servers = {"kafka.bootstrap.servers": address}
    spent = revenue(spark, data, **servers)
    rows = spent.selectExpr("city as key", "to_json(struct(orders, cents)) as value")
    rows.write.format("cordwood").options(topic="revenue", **servers).mode("append").save()
    back = spark.read.format("cordwood").options(subscribe="revenue", **servers).load()
    parsed = back.selectExpr(
        "cast(key as string) as city",
        "inline(array(from_json(cast(value as string), 'orders long, cents long')))",
    )
    return sorted(tuple(row) for row in parsed.collect())


def revenue(spark: "SparkSession", data: Path, **options: str) -> "DataFrame":
    """Return the spending of the customers of each city, by their present city.

    History comes from the segments; with a broker among the options its tail comes from there.
    """
    customers = records(spark, data, "customers", CUSTOMER, **options)
    cities = customers.groupBy("key").agg(functions.max_by("city", "offset").alias("city"))
    spent = records(spark, data, "orders", ORDER, **options).join(cities, "key").groupBy("city")
    return spent.agg(
        functions.count("order").alias("orders"), functions.sum("cents").alias("cents")
    )


def records(
    spark: "SparkSession", data: Path, topic: str, schema: str, **options: str
) -> "DataFrame":
    """A topic's records, their values parsed."""
    frame = cordwood.spark.read(
        spark, str(data), columns=["key", "value", "offset"], subscribe=topic, **options
    )
    value = f"inline(array(from_json(cast(value as string), '{schema}')))"
    return frame.selectExpr("cast(key as string) as key", "offset", value)


def compact(spark: "SparkSession", data: Path, story: Story) -> None:
    """Compact the customers' topic, and ask the same question again."""
    order = CompactJobOrder(is_rolled=True, verify=Verify.ALWAYS)
    story.before = picture(spark, data)
    with story.step("compacted by Spark, and verified", story.before.records):
        done = jobs.compact(spark, [str(data / "customers-0")], order=order)
    story.after = picture(spark, data)
    (report,) = done.reports
    assert report.certificate is not None
    story.certificate = report.certificate.to_json()
    again = sorted(tuple(row) for row in revenue(spark, data).collect())
    assert again == story.revenue, "compaction has changed the content of the customers' topic"


def picture(spark: "SparkSession", data: Path) -> LogPicture:
    """Count the customers' records by their offsets, in the tasks that read them."""
    directory = data / "customers-0"
    with cordwood.open_log(directory) as view:
        end = view.offsets().log_end
    scan = cordwood.spark.scan(spark, str(data), subscribe="customers")
    counts = [0] * BUCKETS
    for row in scan.map_arrow(
        counting(end), "bucket int, records long", columns=["offset"]
    ).collect():
        counts[row.bucket] += row.records
    logs = sorted(directory.glob("*.log"))
    return LogPicture(
        end,
        [count * BUCKETS / end for count in counts],
        [int(log.stem) for log in logs],
        sum(log.stat().st_size for log in logs),
    )


def counting(end: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that counts records by the range that their offset is in."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = np.zeros(BUCKETS, np.int64)
        for batch in batches:
            found += np.bincount(batch["offset"].to_numpy() * BUCKETS // end, minlength=BUCKETS)
        buckets = pa.array(range(BUCKETS), pa.int32())
        yield pa.record_batch({"bucket": buckets, "records": pa.array(found)})

    return count


def export(spark: "SparkSession", data: Path, table: str, *, story: Story) -> None:
    """Write the orders into a table, and prove that it has each of them once."""
    options = {"path": str(data), "subscribe": "orders"}
    with story.step("exported to Parquet", ORDERS):
        jobs.export(spark, table, options=options)
    with story.step("audited", ORDERS):
        audit = jobs.audit(spark, table, options=options)
    assert audit.is_whole, audit
    story.audit = str(audit).splitlines()[-1].rpartition(": ")[2]
