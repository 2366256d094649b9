"""Reports of an export; tests/spark runs exports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SettingError, TableError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.table_export.export_job import Export, open_table
from cordwood.spark.jobs.tables.delta_table import DeltaLakeTable
from cordwood.spark.jobs.tables.export_table import FORMATS, TableAddress, TableCommit
from cordwood.spark.jobs.tables.parquet_files import WrittenFile
from cordwood.spark.jobs.tables.table_ledger import CommitRange, ExportedOffsets, TableState
from tests.unit.spark.jobs.export_samples import ORDERS, layout

pytestmark = pytest.mark.spark


def _export() -> Export:
    held = {ORDERS: ExportedOffsets(0, 60, 40, ((10, 20),))}
    addition = TableCommit(
        (WrittenFile("a.parquet", 1234, 5, (), ()),), (CommitRange(ORDERS, 50, 60, 5),)
    )
    state = TableState(layout=layout(), exported=held)
    return Export(table="lake", state=state, commits=[addition])


@pytest.mark.parametrize("kind", FORMATS)
def test_table_that_is_a_file_is_rejected(tmp_path: Path, kind: str) -> None:
    (tmp_path / "lake").write_bytes(b"")

    with pytest.raises(TableError, match="lake: is a file; use the folder of a table"):
        open_table(TableAddress(path=f"{tmp_path}/lake", format=kind), SystemFiles())


@pytest.mark.parametrize("key", ("to", "of"))
def test_address_of_an_object_store_is_rejected_with_its_option(key: str) -> None:
    with pytest.raises(SettingError, match=rf"^{key}: s3://lake is not a local path; mount it"):
        open_table(TableAddress(path="s3://lake"), SystemFiles(), key=key)


def test_report_has_a_line_per_partition_and_one_for_the_table() -> None:
    assert str(_export()).splitlines() == [
        "orders-0: offsets 0 to 59, 40 records, 10 offsets lost before the export",
        "lake: 5 records added in 1 commit, 1 file, 1,234 bytes",
    ]


def test_report_names_the_partitions_that_no_source_has() -> None:
    found = replace(_export(), absent=[ORDERS])

    assert "10 offsets lost before the export; in no source of this export" in str(found)
    assert json.loads(found.to_json())["absent"] == ["orders-0"]


def test_report_is_available_as_json() -> None:
    parsed = json.loads(_export().to_json())

    assert (parsed["records"], parsed["files"]) == (5, ["a.parquet"])
    assert parsed["partitions"]["orders-0"] == {
        "start": 0,
        "end": 60,
        "records": 40,
        "lost": [[10, 20]],
    }


def test_table_is_opened_by_its_format() -> None:
    assert isinstance(
        open_table(TableAddress(path="lake", format="delta"), SystemFiles()), DeltaLakeTable
    )
