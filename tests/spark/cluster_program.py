"""Does what Cordwood does on Spark, once each, and prints what came of it, as JSON.

cluster_program.py FOLDER BROKER

FOLDER has `logs`, and is written to. A test does the same in a session of its own.
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
from cordwood.compaction.job import Verify
from cordwood.core.system import SystemFiles
from cordwood.spark import jobs
from cordwood.spark.jobs.compact_order import CompactJobOrder
from cordwood.spark.jobs.compacting import Ground
from cordwood.spark.jobs.compacting import compact as compact_by
from cordwood.testing.clock import VirtualClock
from cordwood.workbench.compact import places_to_compact
from cordwood.workbench.settings_found import SettingsFinder

if TYPE_CHECKING:
    from cordwood.spark.scanning import Scan

TABLES: Final = {"parquet": {}, "delta": {}, "iceberg": {"table": "shop.orders"}}
#: One of two logs is larger than `whole_bytes`, and is shared out among tasks.
ORDER: Final = CompactJobOrder(
    verify=Verify.ALWAYS, seed=7, is_rolled=True, whole_bytes=8200, part_bytes=5000
)

Answers = dict[str, object]


def answers(spark: SparkSession, folder: Path, broker: str) -> Answers:
    """Return what everything answers; the places of the package come with it."""
    asked: tuple[Callable[[SparkSession, Path], Answers], ...] = (
        *(_read, _scanned, _verified, _converted, _exported, _compacted),
    )
    said: Answers = {}
    for ask in asked:
        said |= ask(spark, folder)
    return said | _sent(spark, folder, broker)


def places(spark: SparkSession) -> list[str]:
    """Return from where tasks have the package."""

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"place": [cordwood.__file__]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(found, "place string").distinct().collect()
    return [row.place for row in rows]


def _read(spark: SparkSession, folder: Path) -> Answers:
    frame = spark.read.format("cordwood").option("minPartitions", 4).load(str(folder / "logs"))
    rows = frame.selectExpr("topic", "partition", "offset", "hash(key, value)", "timestamp")
    told = sorted((*row[:4], row.timestamp.isoformat()) for row in rows.collect())
    return {"read": [len(told), _digest(json.dumps(told).encode())]}


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
    said: Answers = {}
    for kind, named in TABLES.items():
        told = {"path": str(folder / "logs"), "format": kind, **named}
        lake = str(folder / kind)
        done = jobs.export(spark, lake, options=told)
        found = jobs.audit(spark, lake, options=told)
        said[kind] = [done.records, found.is_whole, found.to_json().replace(str(folder), "")]
    return said


def _compacted(spark: SparkSession, folder: Path) -> Answers:
    files, logs = SystemFiles(), folder / "keyed"
    settings = SettingsFinder(files, given={"cleanup.policy": "compact"})
    found = places_to_compact(files, map(str, sorted(logs.glob("t-*"))), settings=settings)
    ground = Ground(spark=spark, files=files, clock=VirtualClock())
    done = compact_by(ground, found, order=ORDER)
    return {"compacted": [len(done.reports), list(map(str, done.failures)), _segments(logs)]}


def _sent(spark: SparkSession, folder: Path, broker: str) -> Answers:
    """Write by the sink, and send once more what it has written."""
    to = {"kafka.bootstrap.servers": broker}
    frame = spark.read.format("cordwood").load(str(folder / "logs"))
    sink = frame.write.format("cordwood").options(**to).option("topic", "copies")
    sink.mode("append").save()
    copies = cordwood.spark.scan(spark, None, **to, subscribe="copies")
    told = {**to, "subscribe": "copies"}
    report = jobs.replay(spark, told, to={**to, "topic": "again"}, state=str(folder / "state"))
    again = cordwood.spark.scan(spark, None, **to, subscribe="again")
    return {"sunk": copies.count(), "replayed": report.sent, "arrived": again.count()}


def _segments(folder: Path) -> dict[str, str]:
    """Return the digest of each segment, by its place."""
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
    said = {"places": places(spark), **answers(spark, Path(folder), broker)}
    sys.stdout.write(json.dumps(said))
    spark.stop()


if __name__ == "__main__":
    main()
