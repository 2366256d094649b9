"""A program that uses each Spark feature of Cordwood once, and prints the results as JSON.

cluster_program.py FOLDER BROKER

FOLDER has `logs`, and receives the output. A test runs the same in its own session.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import cordwood
import cordwood.spark
from cordwood.compaction.cleaning_job import Verify
from cordwood.core.ports import Ports
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.spark import jobs
from cordwood.spark.jobs.compaction.compact_job import compact_partitions as compact_by
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.compact import find_compact_targets
from cordwood.workbench.topic_settings_lookup import SettingsFinder

if TYPE_CHECKING:
    from cordwood.spark.aggregates.scan import Scan

TABLES: Final = {"parquet": {}, "delta": {}, "iceberg": {"table": "shop.orders"}}
#: One of two logs is larger than `whole_bytes`, so it is distributed.
ORDER: Final = CompactJobOrder(
    verify=Verify.ALWAYS, seed=7, is_rolled=True, whole_bytes=8200, part_bytes=5000
)

Answers = dict[str, object]


def answers(spark: SparkSession, folder: Path, broker: str) -> Answers:
    """Return the results of all features."""
    asked: tuple[Callable[[SparkSession, Path], Answers], ...] = (
        *(_read, _scanned, _verified, _converted, _exported, _compacted),
    )
    found: Answers = {}
    for ask in asked:
        found |= ask(spark, folder)
    return found | _sent(spark, folder, broker)


def places(spark: SparkSession) -> list[str]:
    """Return the paths of the package in tasks."""

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"place": [cordwood.__file__]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(found, "place string").distinct().collect()
    return [row.place for row in rows]


def _read(spark: SparkSession, folder: Path) -> Answers:
    frame = spark.read.format("cordwood").option("minPartitions", 4).load(str(folder / "logs"))
    rows = frame.selectExpr("topic", "partition", "offset", "hash(key, value)", "timestamp")
    values = sorted((*row[:4], row.timestamp.isoformat()) for row in rows.collect())
    return {"read": [len(values), _digest(json.dumps(values).encode())]}


def _scanned(spark: SparkSession, folder: Path) -> Answers:
    scan = cordwood.spark.scan(spark, str(folder / "logs"))
    return {
        "counted": scan.count(),
        "summed": scan.stat(deep=True).to_json().replace(str(folder), ""),
        "times": str(scan.time_histogram(timedelta(seconds=1)).to_pydict()),
        "keys": scan.key_cardinality().keys,
        "lengths": _lengths(scan),
    }


def _lengths(scan: "Scan") -> int | None:
    def summed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = sum(pc.sum(pc.binary_length(each["value"])).as_py() or 0 for each in batches)
        yield pa.record_batch({"total": pa.array([total], pa.int64())})

    (row,) = scan.map_arrow(summed, "total long").agg({"total": "sum"}).collect()
    return None if row[0] is None else int(row[0])


def _verified(spark: SparkSession, folder: Path) -> Answers:
    found = jobs.verify(spark, [str(folder / name) for name in ("logs", "hurt")])
    return {"verified": found.to_json().replace(str(folder), "")}


def _converted(spark: SparkSession, folder: Path) -> Answers:
    out = folder / "converted"
    report = jobs.convert(spark, [str(folder / "logs")], out=str(out), codec="gzip", level=1)
    return {"converted": [report.to_json().replace(str(folder), ""), _segments(out)]}


def _exported(spark: SparkSession, folder: Path) -> Answers:
    found: Answers = {}
    for kind, named in TABLES.items():
        options = {"path": str(folder / "logs"), "format": kind, **named}
        lake = str(folder / kind)
        done = jobs.export(spark, lake, options=options)
        audit = jobs.audit(spark, lake, options=options)
        found[kind] = [done.records, audit.is_whole, audit.to_json().replace(str(folder), "")]
    return found


def _compacted(spark: SparkSession, folder: Path) -> Answers:
    files, logs = SystemFiles(), folder / "keyed"
    settings = SettingsFinder(files, given={"cleanup.policy": "compact"})
    found = find_compact_targets(files, map(str, sorted(logs.glob("t-*"))), settings=settings)
    ports = Ports(files=files, clock=VirtualClock(), random=SystemRandom())
    done = compact_by(spark, found, ports=ports, order=ORDER)
    return {"compacted": [len(done.reports), list(map(str, done.failures)), _segments(logs)]}


def _sent(spark: SparkSession, folder: Path, broker: str) -> Answers:
    """Write with the sink, and replay the written records."""
    to = {"kafka.bootstrap.servers": broker}
    frame = spark.read.format("cordwood").load(str(folder / "logs"))
    sink = frame.write.format("cordwood").options(**to).option("topic", "copies")
    sink.mode("append").save()
    copies = cordwood.spark.scan(spark, None, **to, subscribe="copies")
    source = {**to, "subscribe": "copies"}
    report = jobs.replay(spark, source, to={**to, "topic": "again"}, state=str(folder / "state"))
    again = cordwood.spark.scan(spark, None, **to, subscribe="again")
    return {"sunk": copies.count(), "replayed": report.sent, "arrived": again.count()}


def _segments(folder: Path) -> dict[str, str]:
    """Return the digest of each segment, by its path."""
    return {
        str(path.relative_to(folder)): _digest(path.read_bytes())
        for path in sorted(folder.rglob("*.log"))
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """Print the answers."""
    folder, broker = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    cordwood.spark.register(spark)
    answered = {"places": places(spark), **answers(spark, Path(folder), broker)}
    sys.stdout.write(json.dumps(answered))
    spark.stop()


if __name__ == "__main__":
    main()
