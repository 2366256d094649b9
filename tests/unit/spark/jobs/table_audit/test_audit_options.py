"""Options of an audit."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.table_audit.audit_options import AuditOptions, parse_audit_options
from cordwood.spark.jobs.tables.table_pieces import AuditColumns


def _order(**given: str) -> AuditOptions:
    return parse_audit_options({"of": "lake/orders", "path": "logs", **given})


def test_default_columns_are_those_of_an_export() -> None:
    order = _order()

    assert (order.address.path, order.columns) == ("lake/orders", AuditColumns())
    assert order.source.is_committed


def test_columns_can_have_other_names() -> None:
    columns = _order(topicColumn="meta.topic", offsetColumn="kafka_offset").columns

    assert columns.names == ("meta.topic", "partition", "kafka_offset")


def test_topic_can_be_set_without_a_topic_column() -> None:
    columns = _order(topicName="orders").columns

    assert (columns.only_topic, columns.names) == ("orders", ("partition", "offset"))


def test_options_of_an_export_serve_an_audit_too() -> None:
    order = _order(
        partitionBy="date", fileBytes="5", commitBytes="6", compression="none", gap="record"
    )

    assert order == _order()


def test_audit_is_deep_if_requested() -> None:
    assert (_order().is_deep, _order(deep="True").is_deep) == (False, True)


@pytest.mark.parametrize(
    ("given", "words"),
    (
        (
            {"topicName": "orders", "topicColumn": "t"},
            "topicName and topicColumn are mutually exclusive",
        ),
        ({"deep": "yes"}, "deep: invalid value 'yes'; use true or false"),
        ({"topicColum": "t"}, "did you mean topicColumn"),
        ({"of": ""}, "of is not set; set of to the folder"),
    ),
)
def test_unusable_options_are_rejected(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        _order(**given)
