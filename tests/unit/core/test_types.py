"""Number types are plain values at run time, and their absent values are -1."""

from cordwood.core import types


def test_names_are_plain_values_at_run_time() -> None:
    assert types.Offset(5) + 1 == 6
    assert types.TopicName("orders") == "orders"


def test_absent_values_are_minus_one() -> None:
    absent = {value for name, value in vars(types).items() if name.startswith("NO_")}

    assert absent == {-1}


def test_partition_has_its_topics_name() -> None:
    name = types.TopicPartition(types.TopicName("my-topic"), types.PartitionId(3))

    assert str(name) == "my-topic-3"
