"""Partitions and offsets of brokers."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import cordwood
from cordwood.core.errors import RequestTimedOutError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.list_offsets import ListOffsetsRequest
from cordwood.spark.source.broker_offsets import (
    BrokerOffsetReader,
    broker_offset_reader,
    open_brokers,
    open_consumer,
    select_partitions,
)
from cordwood.spark.source.coverage import AvailableRange, BrokerSource, KnownEnd
from cordwood.spark.source.source_options import SourceOptions, TopicChoice
from tests.unit.client.fake_broker import FakeBroker, served
from tests.unit.storage.segment_samples import v2

T0, T1 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(2))
ALL_OF_T = TopicChoice(names=frozenset({"t"}))


def _options(fake: FakeBroker, **more: object) -> SourceOptions:
    return SourceOptions(servers=fake.address, topics=ALL_OF_T, **more)  # type: ignore[arg-type]  # by name


@contextmanager
def open_offset_reader(options: SourceOptions) -> Iterator[BrokerOffsetReader]:
    """Yield the offset reader of the brokers, with the selected partitions."""
    with open_brokers(options) as brokers:
        yield broker_offset_reader(brokers, options)


def test_available_ranges_are_those_of_the_brokers() -> None:
    with served(t=2) as fake:
        fake.ends["t", 1] = 7
        with open_offset_reader(_options(fake)) as brokers:
            available = brokers.available([T0, T1])

    assert available == {
        T0: [AvailableRange(0, 0, BrokerSource())],
        T1: [AvailableRange(0, 7, BrokerSource())],
    }


def test_available_ranges_cover_only_selected_partitions() -> None:
    with served(t=2) as fake, open_offset_reader(_options(fake)) as brokers:
        assert brokers.partitions() == [T0, T1]
        assert list(brokers.available([T1])) == [T1]


def test_all_partitions_are_looked_up_in_one_request() -> None:
    with served(t=9) as fake, open_offset_reader(_options(fake)) as brokers:
        brokers.available(brokers.partitions())

        assert len(fake.requests(ListOffsetsRequest)) == 2


def test_read_committed_requests_the_last_stable_offset() -> None:
    with served(t=1) as fake, open_offset_reader(_options(fake, is_committed=True)) as brokers:
        brokers.available(brokers.partitions())

        assert fake.requests(ListOffsetsRequest)[-1].isolation_level == 1


def test_offsets_for_times_cover_only_available_partitions() -> None:
    elsewhere = TopicPartition(TopicName("u"), PartitionId(0))
    with served(t=1) as fake:
        fake.ends["t", 0] = 3
        with open_consumer(_options(fake)) as consumer:
            found = BrokerOffsetReader(consumer, ["t"], [T0]).offsets_for_times(
                {T0: 5_000, elsewhere: 5_000}
            )

    assert found == {T0: 3}


def test_brokers_report_topic_ids() -> None:
    with served(t=2) as fake, open_offset_reader(_options(fake)) as brokers:
        found = brokers.topic_ids()

    assert {each.reported_by for each in found.values()} == {"the brokers"}
    assert len({each.topic_id for each in found.values()}) == 1
    assert list(found) == [T0, T1]


def test_brokers_without_topic_ids_report_none() -> None:
    with served(t=1) as fake, open_consumer(_options(fake)) as consumer:
        assert BrokerOffsetReader(consumer, ["t"], [T0]).topic_ids() == {}


@pytest.mark.parametrize(
    ("topics", "wanted"),
    (
        (ALL_OF_T, [T0, T1]),
        (TopicChoice(pattern="t|nothing"), [T0, T1]),
        (TopicChoice(assigned=frozenset({T1})), [T1]),
        (TopicChoice(names=frozenset({"nothing"})), []),
    ),
)
def test_partitions_are_selected_by_topic(
    topics: TopicChoice, wanted: list[TopicPartition]
) -> None:
    with served(t=2, u=1) as fake, cordwood.Admin(fake.address) as admin:
        described = admin.describe_topics(admin.list_topics())
        assert select_partitions(described, topics) == wanted


def test_client_settings_have_kafkas_names() -> None:
    with served(t=1) as fake:
        client = {"client.id": "me", "max.poll.records": "7"}
        with open_offset_reader(_options(fake, client=client)) as brokers:
            assert brokers.available([T0])[T0]


def test_unknown_client_setting_is_rejected() -> None:
    options = SourceOptions(servers="127.0.0.1:9", client={"fetch.min.byte": "1"})

    with pytest.raises(SettingError, match=r"fetch\.min\.bytes"), open_consumer(options):
        pass


def test_broker_that_hangs_is_named() -> None:
    client = {"request.timeout.ms": "50", "default.api.timeout.ms": "400", "retry.backoff.ms": "1"}
    with served(t=1) as fake, open_offset_reader(_options(fake, client=client)) as brokers:
        fake.script(ListOffsetsRequest, *[lambda _: None] * 9)

        with pytest.raises(
            RequestTimedOutError, match=f"broker {fake.address} did not answer ListOffsets"
        ):
            brokers.available(brokers.partitions())


def test_leader_epoch_of_a_partition_is_that_of_its_leader() -> None:
    with served(t=2) as fake:
        fake.leader_epoch = 6
        with open_offset_reader(_options(fake)) as brokers:
            assert brokers.leader_epochs([T1]) == {T1: 6}
            assert brokers.log_ends() == {}


def test_end_of_a_leader_epoch_below_a_known_end_shows_a_truncation() -> None:
    with served(t=2) as fake:
        for epoch in (4, 6):
            fake.leader_epoch = epoch
            for _ in range(3):
                fake.append("t", v2(0))
        with open_offset_reader(_options(fake)) as brokers:
            assert brokers.truncated_ends({T0: KnownEnd(5, 4)}) == {T0: 3}
            assert brokers.truncated_ends({T0: KnownEnd(3, 4), T1: KnownEnd(9)}) == {}
