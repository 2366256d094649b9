"""Members of groups and transactions of confluent-kafka."""

from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from tests.interop.kafka_harness.client import Member, Membership, Polled, Records, RefusedError
from tests.interop.kafka_harness.patience import PATIENCE_S, wait_for_result

POLL_S = 0.1
_MOVING = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}


def refused(error: KafkaError) -> RefusedError:
    """The error of the broker, or librdkafka's own."""
    return RefusedError(error.code(), error.str())


class ConfluentMember:
    """A consumer of librdkafka, whose thread keeps it in the group."""

    def __init__(self, bootstrap: str, membership: Membership) -> None:
        settings: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "log_level": 3,
            "group.id": membership.group,
            "group.protocol": membership.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
        }
        if membership.protocol == "classic":
            settings["heartbeat.interval.ms"] = 100
            settings["partition.assignment.strategy"] = membership.assignor
        if membership.instance is not None:
            settings["group.instance.id"] = membership.instance
        self.consumer = Consumer(settings)
        self.consumer.subscribe([membership.topic])

    def poll(self) -> Polled:
        values = []
        message = self.consumer.poll(POLL_S)
        while isinstance(message, Message):
            if (error := message.error()) is not None:
                raise refused(error)
            values.append(cast("bytes", message.value()))
            message = self.consumer.poll(0)
        return Polled([each.partition for each in self.consumer.assignment()], values)

    def commit(self) -> None:
        """Commit; librdkafka itself retries twice only while the coordinator moves."""
        wait_for_result(self._has_committed, wanted=True)

    def _has_committed(self) -> bool:
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in _MOVING:
                raise
            return False
        return True

    def leave(self) -> None:
        self.consumer.close()


class ConfluentTransactions:
    """A producer of librdkafka with a transactional id."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 2, "transactional.id": transactional_id}
        )
        self._producer.init_transactions(PATIENCE_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, records: Records) -> None:
        for record in records:
            self._producer.produce(
                topic,
                partition=0,
                key=record.key,
                value=record.value,
                timestamp=record.timestamp,
            )
        assert self._producer.flush(PATIENCE_S) == 0, "librdkafka could not deliver everything"

    def send_offsets(self, member: Member) -> None:
        consumer = cast("ConfluentMember", member).consumer
        positions = consumer.position(consumer.assignment())
        metadata = consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(positions, metadata, PATIENCE_S)

    def end(self, *, commit: bool) -> None:
        finish = self._producer.commit_transaction if commit else self._producer.abort_transaction
        try:
            finish(PATIENCE_S)
        except KafkaException as error:
            raise refused(error.args[0]) from error

    def close(self) -> None:
        """Drop the producer, which has no other end."""
        del self._producer
