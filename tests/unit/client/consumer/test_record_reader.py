"""Records of prefetched data."""

from cordwood.client.consumer.record_reader import RecordReader
from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.serializers import BYTES
from cordwood.client.topic_partitions import partitions_of
from tests.unit.client.samples import T0, fetched, placed


class Wakes:
    """Fetcher and tasks of a reader, which does not use them for few records."""

    def __init__(self) -> None:
        self.woken: list[TopicPartitionState] = []

    def wake_for(self, position: TopicPartitionState) -> None:
        self.woken.append(position)


def made() -> tuple[RecordReader[bytes, bytes], TopicPartitionState, list[int | None], Wakes]:
    subscriptions, seen, wakes = SubscriptionState(), list[int | None](), Wakes()
    subscriptions.assign(partitions_of([T0]))
    (position,) = subscriptions
    position.seek(0)
    position.add_fetched(fetched(placed(0, b"a", b"b", b"c")))
    reader = RecordReader(
        BYTES,
        wakes,  # type: ignore[arg-type]  # only `wake_for`
        wakes,  # type: ignore[arg-type]  # unused
        before_handing_out=lambda each: seen.append(each.offset),
    )
    return reader, position, seen, wakes


def test_position_before_the_records_is_reported() -> None:
    reader, position, seen, _ = made()

    first = reader.take(position, 2)
    second = reader.take(position, 2)

    assert [each.value for each in (*first, *second)] == [b"a", b"b", b"c"]
    assert seen == [0, 2]


def test_completed_fetch_is_dropped_after_its_last_record() -> None:
    reader, position, _, wakes = made()

    reader.take(position, 9)

    assert (position.offset, len(position.fetched), wakes.woken) == (3, 0, [position])


def test_whole_fetch_begins_at_the_position() -> None:
    reader, position, seen, _ = made()
    reader.take(position, 1)

    assert reader.whole(position).offset == 1
    reader.finish(position)
    assert (position.offset, seen) == (3, [0, 1])
