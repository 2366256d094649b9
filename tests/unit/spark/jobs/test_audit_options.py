"""What an audit is told, by name."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.audit_options import AuditOrder, parse_audit
from cordwood.spark.jobs.audit_pieces import Columns


def _order(**given: str) -> AuditOrder:
    return parse_audit({"of": "lake/orders", "path": "logs", **given})


def test_audit_without_more_knows_the_columns_of_an_export() -> None:
    order = _order()

    assert (order.address.path, order.columns) == ("lake/orders", Columns())
    assert order.source.is_committed


def test_columns_of_others_have_their_names() -> None:
    columns = _order(topicColumn="meta.topic", offsetColumn="kafka_offset").columns

    assert columns.names == ("meta.topic", "partition", "kafka_offset")


def test_table_of_one_topic_may_say_so_without_a_column() -> None:
    columns = _order(topicName="orders").columns

    assert (columns.only_topic, columns.names) == ("orders", ("partition", "offset"))


@pytest.mark.parametrize(
    ("given", "words"),
    (
        ({"topicName": "orders", "topicColumn": "t"}, "topicName and topicColumn contradict"),
        ({"topicColum": "t"}, "did you mean topicColumn"),
        ({"of": ""}, "nothing is said of where the table is; give of="),
    ),
)
def test_options_that_cannot_be_used_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        _order(**given)
