"""Descriptions of planned reads."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import BrokerSource, OffsetRange, PartitionDirectory
from cordwood.spark.source.plan_description import MAX_SHOWN, describe_plan, summarize_plan
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.splits import Split

OPTIONS = SourceOptions(paths=("/logs",), servers="broker:9092", columns=("key", "offset"))


def _split(partition: int, start: int, end: int, *, is_on_brokers: bool = False) -> Split:
    wanted = TopicPartition(TopicName("orders"), PartitionId(partition))
    source = BrokerSource() if is_on_brokers else PartitionDirectory(f"/logs/{wanted}")
    return Split(OffsetRange(wanted, start, end), 1_000, source)


def test_plan_has_the_offsets_and_splits_of_each_partition_and_source() -> None:
    stored = [_split(0, 5, 2_000), _split(0, 2_000, 4_000)]
    fetched = _split(0, 4_000, 4_001, is_on_brokers=True)

    assert describe_plan(OPTIONS, [*stored, fetched, _split(1, 0, 7)]).splitlines() == [
        "read of /logs, brokers broker:9092: 2 partitions, 4 splits, 4,000 bytes",
        "columns: key, offset",
        "orders-0: offsets 5 to 3,999, 2 splits, 2,000 bytes from /logs/orders-0",
        "orders-0: offsets 4,000 to 4,000, 1 split, 1,000 bytes from brokers",
        "orders-1: offsets 0 to 6, 1 split, 1,000 bytes from /logs/orders-1",
    ]


def test_empty_plan_has_its_sources() -> None:
    assert (
        summarize_plan(OPTIONS, []) == "/logs, brokers broker:9092: 0 partitions, 0 splits, 0 bytes"
    )


def test_long_plan_is_cut() -> None:
    splits = [_split(number, 0, 1) for number in range(MAX_SHOWN + 3)]

    assert describe_plan(OPTIONS, splits).splitlines()[-1] == "and 3 more partitions"
