"""A query of a stream over brokers, without Spark: growth, limits, restarts and new partitions."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from cordwood.core.system import SystemFiles
from cordwood.spark.stream.admission import NO_LIMITS, AdmissionLimits
from cordwood.spark.stream.stream_offset import INITIAL
from cordwood.spark.stream.stream_options import parse_stream_options
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.spark.stream.stream_report import parse_facts
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.spark.stream.stream_samples import records, write_log

if TYPE_CHECKING:
    from cordwood.testing.kafka_fixture import Kafka


def query_of(kafka: "Kafka", **options: str) -> StreamQuery:
    places = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": "t"}
    given = {**places, "startingOffsets": "earliest", **options}
    return StreamQuery(parse_stream_options(given), SystemFiles(), VirtualClock())


def send(kafka: "Kafka", count: int, *, partition: int = 0) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        for _ in range(count):
            producer.send("t", bytes(100), partition=partition)


def test_query_follows_its_topic_over_a_restart_of_the_broker(kafka: "Kafka") -> None:
    send(kafka, 3)
    query = query_of(kafka)
    first = query.latest(INITIAL, NO_LIMITS)
    kafka.restart()
    send(kafka, 2)

    second = query.latest(first, NO_LIMITS)

    assert (first["t"], second["t"]) == ({"0": 3}, {"0": 5})
    query.close()


def test_topic_that_was_truncated_and_grew_past_the_position_is_refused(kafka: "Kafka") -> None:
    send(kafka, 3)
    backup = kafka.snapshot()
    send(kafka, 2)
    query = query_of(kafka)
    end = query.latest(INITIAL, NO_LIMITS)
    kafka.rewind(backup)
    send(kafka, 4)

    with pytest.raises(OffsetOutOfRangeError, match="t-0: offsets 3 to 4 were truncated"):
        query.latest(end, NO_LIMITS)
    query.close()


def test_truncated_topic_is_read_from_its_new_records_on(kafka: "Kafka", tmp_path: Path) -> None:
    send(kafka, 3)
    backup = kafka.snapshot()
    send(kafka, 2)
    query = query_of(kafka, gap="record", gapTable=str(tmp_path))
    end = query.latest(INITIAL, NO_LIMITS)
    kafka.rewind(backup)
    send(kafka, 4)

    following = query.latest(end, NO_LIMITS)

    ranges = [split.range[1:] for pack in query.packs(end, following) for split in pack]
    assert (ranges, query.latest(following, NO_LIMITS)) == ([(3, 7)], following)
    assert [each.name for each in tmp_path.iterdir()] == ["t-0-3-5.parquet"]
    query.close()


def test_bytes_of_brokers_limit_a_batch_by_their_average(kafka: "Kafka") -> None:
    send(kafka, 100)
    query = query_of(kafka)

    ends, start = [], INITIAL
    while (end := query.latest(start, AdmissionLimits(max_bytes=4000))) is not start:
        ends.append(end["t"])
        start = end

    assert len(ends) > 1
    assert ends[-1] == {"0": 100}
    query.close()


def test_topic_that_was_created_again_is_refused_with_its_ids(kafka: "Kafka") -> None:
    send(kafka, 3)
    query = query_of(kafka)
    end = query.latest(INITIAL, NO_LIMITS)
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.delete_topic("t")
        admin.create_topic("t", partitions=1)

    with pytest.raises(
        InconsistentTopicIdError, match="t: the topic was deleted and created again"
    ):
        query.latest(end, NO_LIMITS)
    query.close()


def test_position_after_the_last_stable_offset_waits(kafka: "Kafka") -> None:
    with cordwood.Producer(kafka.bootstrap, transactional_id="open") as producer:
        producer.begin()
        producer.send("t", b"1", partition=0)
        producer.flush()
        before, after = query_of(kafka), query_of(kafka, **{"isolation.level": "read_committed"})
        end = before.latest(INITIAL, NO_LIMITS)

        assert after.latest(end, NO_LIMITS) is end
        producer.abort()
    before.close()
    after.close()


def test_group_is_committed_when_a_batch_is_finished(kafka: "Kafka") -> None:
    send(kafka, 3)
    query = query_of(kafka, groupId="lake")
    with cordwood.Admin(kafka.bootstrap) as admin:
        end = query.latest(INITIAL, NO_LIMITS)
        assert admin.list_group_offsets("lake") == {}

        query.latest(end, NO_LIMITS)

        assert [each.offset for each in admin.list_group_offsets("lake").values()] == [3]
    query.close()


def committed(kafka: "Kafka") -> dict[tuple[str, int], int]:
    with cordwood.Admin(kafka.bootstrap) as admin:
        offsets = admin.list_group_offsets("lake")
    return {each: found.offset for each, found in offsets.items()}


def failed_commits(query: StreamQuery) -> int:
    facts = parse_facts(query.report() or {})
    assert facts is not None
    return facts.failed_commits


def test_group_is_committed_without_a_deleted_topic(kafka: "Kafka", tmp_path: Path) -> None:
    send(kafka, 3)
    kafka.create_topic("u")
    options = {"gap": "record", "gapTable": str(tmp_path), "subscribe": "t,u"}
    query = query_of(kafka, groupId="lake", **options)
    end = query.latest(INITIAL, NO_LIMITS)
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.delete_topic("u")

    query.latest(end, NO_LIMITS)

    assert failed_commits(query) == 0
    assert committed(kafka) == {("t", 0): 3}
    query.close()


def test_group_gets_no_offset_of_a_topic_that_was_created_again(kafka: "Kafka") -> None:
    send(kafka, 3)
    query = query_of(kafka, groupId="lake", onRecreatedTopic="restart")
    end = query.latest(INITIAL, NO_LIMITS)
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.delete_topic("t")
        admin.create_topic("t", partitions=1)

    query.latest(end, NO_LIMITS)

    assert committed(kafka) == {}
    query.close()


def test_group_gets_no_offset_of_a_partition_in_directories_alone(
    kafka: "Kafka", tmp_path: Path
) -> None:
    send(kafka, 3)
    write_log(tmp_path, records(0, 4), partition=1)
    query = query_of(kafka, groupId="lake", path=str(tmp_path))
    end = query.latest(INITIAL, NO_LIMITS)

    query.latest(end, NO_LIMITS)

    assert end["t"] == {"0": 3, "1": 4}
    assert failed_commits(query) == 0
    assert committed(kafka) == {("t", 0): 3}
    query.close()
