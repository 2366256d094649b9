"""Options of an export."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.table_export.export_options import (
    FILE_BYTES,
    ExportOptions,
    parse_export_options,
)


def _order(**given: str) -> ExportOptions:
    return parse_export_options({"to": "lake/orders", "path": "logs", **given})


def test_export_writes_committed_records_to_parquet_by_default() -> None:
    order = _order()

    assert (order.address.path, order.address.format) == ("lake/orders", "parquet")
    assert order.source.is_committed
    assert order.source.paths == (f"{Path.cwd()}/logs",)


def test_isolation_level_is_configurable() -> None:
    assert not parse_export_options(
        {"to": "lake", "path": "logs", "isolation.level": "read_uncommitted"}
    ).source.is_committed


def test_split_size_is_the_file_size() -> None:
    assert _order().source.split_bytes == FILE_BYTES
    assert _order(fileBytes="1000").source.split_bytes == 1000
    assert _order(fileBytes="1000", splitBytes="500").source.split_bytes == 500


def test_included_headers_are_a_column() -> None:
    assert _order(includeHeaders="true").columns[-1] == "headers"


def test_table_of_iceberg_has_a_name_and_may_have_a_catalog() -> None:
    order = parse_export_options(
        {"to": "lake", "path": "logs", "format": "iceberg", "table": "logs.orders"}
        | {"catalog.type": "rest", "catalog.uri": "http://localhost:8181"}
    )

    assert order.address.name == "logs.orders"
    assert order.address.catalog == {"type": "rest", "uri": "http://localhost:8181"}


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({"format": "orc"}, "unknown format 'orc'.*parquet, delta, iceberg"),
        ({"format": "iceberg"}, r"Iceberg needs NAMESPACE\.NAME \(it is not set\)"),
        ({"format": "iceberg", "table": "orders"}, r"NAMESPACE\.NAME \(found 'orders'\)"),
        ({"format": "iceberg", "table": "logs."}, r"NAMESPACE\.NAME \(found 'logs\.'\)"),
        ({"table": "logs.orders"}, "format parquet has a path and no name"),
        ({"catalog.uri": "x"}, "parquet has no catalog"),
        ({"partitionBy": "key"}, "partitionBy: invalid value key; choose from topic, partition"),
        ({"partitionBy": "date,date"}, "each once"),
        ({"fileBytes": "0"}, "fileBytes: invalid value '0'"),
        ({"commitBytes": "many"}, "commitBytes: invalid value 'many'"),
        ({"compression": "zip"}, "use one of zstd, snappy"),
        ({"gap": "refill"}, "use one of fail, record"),
        ({"columns": "key,offset"}, "columns: topic is missing, which an audit needs"),
        ({"partitionedBy": "date"}, "did you mean partitionBy"),
        ({"subscribed": "orders"}, "did you mean subscribe"),
    ),
)
def test_unusable_options_are_rejected(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        _order(**given)


def test_export_without_a_table_is_rejected() -> None:
    with pytest.raises(SettingError, match="to is not set; set to to the folder"):
        parse_export_options({"path": "logs"})
