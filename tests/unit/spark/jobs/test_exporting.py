"""What an export says of itself; tests/spark runs it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import TableError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.export_delta import DeltaLakeTable
from cordwood.spark.jobs.export_files import WrittenFile
from cordwood.spark.jobs.export_ledger import Held, Standing, Stretch
from cordwood.spark.jobs.export_tables import FORMATS, Addition, TableAddress
from cordwood.spark.jobs.exporting import Export, open_table
from tests.unit.spark.jobs.export_samples import ORDERS, shape

pytestmark = pytest.mark.spark


def _export() -> Export:
    held = {ORDERS: Held(0, 60, 40, ((10, 20),))}
    addition = Addition((WrittenFile("a.parquet", 1234, 5, (), ()),), (Stretch(ORDERS, 50, 60, 5),))
    standing = Standing(shape=shape(), held=held)
    return Export(table="lake", standing=standing, additions=[addition])


@pytest.mark.parametrize("kind", FORMATS)
def test_table_that_is_a_file_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "lake").write_bytes(b"")

    with pytest.raises(TableError, match="lake: is a file; give the folder of a table"):
        open_table(TableAddress(path=f"{tmp_path}/lake", format=kind), SystemFiles())


def test_export_tells_of_each_partition_and_of_all() -> None:
    assert str(_export()).splitlines() == [
        "orders-0: offsets 0 to 59, 40 records, 10 offsets lost before they were exported",
        "lake: 5 records added in 1 commits, 1 files, 1,234 bytes",
    ]


def test_export_tells_the_same_as_json() -> None:
    said = json.loads(_export().to_json())

    assert (said["records"], said["files"]) == (5, ["a.parquet"])
    assert said["partitions"]["orders-0"] == {
        "start": 0,
        "end": 60,
        "records": 40,
        "lost": [[10, 20]],
    }


def test_table_is_opened_by_its_format() -> None:
    assert isinstance(
        open_table(TableAddress(path="lake", format="delta"), SystemFiles()), DeltaLakeTable
    )
