"""Options of tables in Spark's catalog."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.source.catalog_table import (
    is_created,
    options_of_read,
    options_of_user,
    table_schema,
)

pytestmark = pytest.mark.spark

SCHEMA = StructType([StructField("key", BinaryType()), StructField("offset", LongType())])
PROPERTIES = {"owner": "root", "provider": "cordwood", "location": "file:/w/t", "k": "v"}


def test_options_of_a_read_are_those_that_are_given() -> None:
    given = {"path": "logs", "provider": "misspelled"}

    assert not is_created(given)
    assert options_of_user(given) == given


def test_properties_of_a_table_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {**PROPERTIES, "path": "logs", "subscribe": "a", "option.subscribe": "a"}

    assert is_created(given)
    assert options_of_user(given) == {"path": f"{tmp_path}/logs", "subscribe": "a"}
    assert options_of_user(PROPERTIES) == {}


def test_schema_carries_the_options() -> None:
    schema = table_schema(("key", "offset"), {"path": "/logs", "endAt": "log-end"})

    assert schema.simpleString() == SCHEMA.simpleString()
    assert options_of_read(schema, {}) == {"path": "/logs", "endAt": "log-end"}
    assert options_of_read(schema, {"path": "/more"}) == {"path": "/more", "endAt": "log-end"}


def test_read_without_any_option_is_rejected() -> None:
    assert options_of_read(SCHEMA, {"path": "/logs"}) == {"path": "/logs"}
    with pytest.raises(SettingError, match="create a table without a column list"):
        options_of_read(SCHEMA, {})
