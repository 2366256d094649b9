"""The report of a source in Spark's progress."""

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.stream.stream_report import ReportedFacts, parse_facts, report_json

P0 = TopicPartition(TopicName("orders"), PartitionId(0))


def test_report_has_the_ends_in_the_form_of_spark_sql_kafka() -> None:
    assert report_json({P0: 9}, ReportedFacts())["orders"] == {"0": 9}


def test_facts_survive_a_round_trip() -> None:
    facts = ReportedFacts(size=4096, gaps={P0: 3}, behind_ms=250, failed_commits=1)

    assert parse_facts(report_json({P0: 9}, facts)) == facts


def test_report_of_another_source_has_no_facts() -> None:
    assert parse_facts({"orders": {"0": 9}}) is None
