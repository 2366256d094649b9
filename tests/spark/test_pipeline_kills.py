"""A pipeline that exports a growing topic has each offset once, while it runs and after kills."""

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

import cordwood
from tests.spark.driver_kills import NameCounter, ensure_gone, killed_once
from tests.spark.kills import IS_SOAK, SEED
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(7200)

KILLS: Final = 20 if IS_SOAK else 1
KINDS: Final = ("delta", "iceberg") if IS_SOAK else ("delta",)
#: Records of a run, in batches of ten; a batch has at least four new names.
RECORDS: Final = 400 if IS_SOAK else 100
MOST_NAMES: Final = RECORDS // 4
PARTITIONS: Final = 2
PIPELINE: Final = """
trigger = "{trigger}"
checkpoint = "checkpoint"
[source]
"kafka.bootstrap.servers" = "{address}"
subscribe = "orders"
maxOffsetsPerTrigger = "10"
[[transform]]
sql = "SELECT topic, partition, offset, value FROM input"
[sink]
format = "{kind}"
to = "lake"
"""
TABLE: Final = "shop.orders"


class Export:
    """A pipeline in a folder, whose table can be audited at any time."""

    def __init__(self, spark: "SparkSession", folder: Path, kind: str) -> None:
        self._spark = spark
        self._folder = folder
        self._kind = kind

    def define(self, address: str, trigger: str) -> tuple[str, ...]:
        """Write the pipeline; return the words of the command that runs it."""
        text = PIPELINE.format(trigger=trigger, address=address, kind=self._kind)
        more = f'table = "{TABLE}"\n' if self._kind == "iceberg" else ""
        file = self._folder / "orders.toml"
        file.write_text(text + more)
        return ("spark", "pipeline", "run", str(file))

    def gauge(self) -> NameCounter:
        """Return the number of new names of the checkpoint and the table."""
        return NameCounter(self._folder)

    def committed(self) -> dict[str, int]:
        """Return the offsets after the newest commit of the table, by partition."""
        text = self._newest()
        return {} if text is None else json.loads(text)["orders"]

    def check(self, seen: str) -> int:
        """Audit the offsets of the newest commit; return their number."""
        from cordwood.spark import jobs  # noqa: PLC0415  # needs pyspark

        ends = self.committed()
        if not ends:
            return 0
        options = {"path": str(self._folder / "logs"), "format": self._kind, "subscribe": "orders"}
        options["endingOffsets"] = json.dumps({"orders": ends})
        if self._kind == "iceberg":
            options["table"] = TABLE
        audit = jobs.audit(self._spark, str(self._folder / "lake"), options=options)
        assert audit.is_whole, f"{seen}: {audit}"
        proven = sum(each.compared.proven for each in audit.partitions)
        assert proven >= sum(ends.values()), f"{seen}: {proven} proven of {ends}"
        return proven

    def _newest(self) -> str | None:
        if self._kind == "delta":
            from deltalake import DeltaTable  # noqa: PLC0415  # an extra

            if not (self._folder / "lake" / "_delta_log").exists():
                return None
            (newest,) = DeltaTable(self._folder / "lake").history(1)
            return str(newest["cordwood.offsets"])
        from cordwood.spark.jobs.tables.export_table import TableAddress  # noqa: PLC0415  # pyspark
        from cordwood.spark.jobs.tables.iceberg_table import open_catalog  # noqa: PLC0415  # as above

        address = TableAddress(path=str(self._folder / "lake"), format="iceberg", name=TABLE)
        catalog = open_catalog(address)
        if not catalog.table_exists(TABLE):
            return None
        snapshot = catalog.load_table(TABLE).current_snapshot()
        if snapshot is None or snapshot.summary is None:
            return None
        return snapshot.summary["cordwood.offsets"]


def grow(broker: cordwood.Broker, records: int) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in range(records):
            producer.send("orders", b"%d" % number, partition=number % PARTITIONS)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_pipeline_exports_each_offset_once(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    export, chance, audited = Export(spark, tmp_path, kind), Random(SEED), list[int]()
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": PARTITIONS}) as broker:
        for number in range(KILLS):
            grow(broker, RECORDS)
            gauge, at = export.gauge(), chance.randint(4, MOST_NAMES)
            seen = f"killed at {at} names, kill {number}, seed {SEED}"

            def is_time(
                _driver: int, gauge: NameCounter = gauge, at: int = at, seen: str = seen
            ) -> bool:
                if gauge() < at:
                    return False
                audited.append(export.check(f"running, {seen}"))
                return True

            family = killed_once(is_time, export.define(broker.address, "0 seconds"))
            assert family is not None
            ensure_gone(family)
            audited.append(export.check(seen))
        output = run(export.define(broker.address, "available-now"), monkeypatch, capfd)
        assert output.code == 0, output.err
        audited.append(export.check(f"finished, seed {SEED}"))

    assert audited == sorted(audited)
    assert audited[-1] == KILLS * RECORDS
