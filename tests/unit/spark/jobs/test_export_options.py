"""What an export is told, by name."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.export_options import FILE_BYTES, ExportOrder, parse_export


def _order(**given: str) -> ExportOrder:
    return parse_export({"to": "lake/orders", "path": "logs", **given})


def test_export_without_more_is_of_committed_records_into_parquet() -> None:
    order = _order()

    assert (order.address.path, order.address.format) == ("lake/orders", "parquet")
    assert order.source.is_committed
    assert order.source.paths == ("logs",)


def test_isolation_that_is_given_counts() -> None:
    assert not parse_export(
        {"to": "lake", "path": "logs", "isolation.level": "read_uncommitted"}
    ).source.is_committed


def test_tasks_read_as_much_as_a_file_has() -> None:
    assert _order().source.split_bytes == FILE_BYTES
    assert _order(fileBytes="1000").source.split_bytes == 1000
    assert _order(fileBytes="1000", splitBytes="500").source.split_bytes == 500


def test_headers_are_a_column_where_they_are_included() -> None:
    assert _order(includeHeaders="true").columns[-1] == "headers"


def test_table_of_iceberg_has_a_name_and_may_have_a_catalog() -> None:
    order = parse_export(
        {"to": "lake", "path": "logs", "format": "iceberg", "table": "logs.orders"}
        | {"catalog.type": "rest", "catalog.uri": "http://localhost:8181"}
    )

    assert order.address.name == "logs.orders"
    assert order.address.catalog == {"type": "rest", "uri": "http://localhost:8181"}


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({"format": "orc"}, "there is no format 'orc'.*parquet, delta, iceberg"),
        ({"format": "iceberg"}, "a table of Iceberg has a name"),
        ({"table": "logs.orders"}, "a table of Iceberg has a name"),
        ({"catalog.uri": "x"}, "parquet has no catalog"),
        ({"partitionBy": "key"}, "cannot be partitioned by key; choose from topic, partition"),
        ({"partitionBy": "date,date"}, "each once"),
        ({"fileBytes": "0"}, "fileBytes has '0'"),
        ({"commitBytes": "many"}, "commitBytes has 'many'"),
        ({"compression": "zip"}, "use one of zstd, snappy"),
        ({"gap": "refill"}, "use one of fail, record"),
        ({"columns": "key,offset"}, "a table without topic cannot be audited"),
        ({"partitionedBy": "date"}, "did you mean partitionBy"),
        ({"subscribed": "orders"}, "did you mean subscribe"),
    ),
)
def test_options_that_cannot_be_used_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        _order(**given)


def test_export_to_nowhere_is_refused() -> None:
    with pytest.raises(SettingError, match="nothing is said of where the table is; give to="):
        parse_export({"path": "logs"})
