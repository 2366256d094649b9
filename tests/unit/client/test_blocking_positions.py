"""Positions of the blocking consumer are those of the consumer for asyncio."""

import cordwood
from cordwood.testing.kafka_fixture import Kafka


def test_positions_follow_each_seek(kafka: Kafka) -> None:
    here = ("orders", 0)
    with cordwood.Producer(kafka.bootstrap) as producer:
        for value in (b"3 beams", b"4 posts"):
            producer.send("orders", value).result()

    with cordwood.Consumer(kafka.bootstrap) as consumer:
        consumer.assign([here])
        consumer.seek_to_beginning(here)
        first = consumer.position(here)
        consumer.seek_to_end()
        last = consumer.position(here)
        consumer.seek(here, 1)

        assert (first, last, consumer.position(here)) == (0, 2, 1)
        assert consumer.assignment() == (here,)
        assert consumer.beginning_offsets([here]) == {here: 0}
        assert consumer.end_offsets([here]) == {here: 2}


def test_paused_partition_returns_no_records_until_it_is_resumed(kafka: Kafka) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        producer.send("orders", b"3 beams").result()

    with cordwood.Consumer(kafka.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        consumer.pause()
        paused = consumer.poll(10)
        consumer.resume()

        assert paused == []
        assert [record.value for record in consumer.poll(10_000)] == [b"3 beams"]
