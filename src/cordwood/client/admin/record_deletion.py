"""Deletion of records up to offsets, over several partitions (Java: `DeleteRecordsHandler`).

A partition is sent until its leader has answered about it, and not again. Java returns a future for
each partition. Here one call returns all log start offsets; the error of a partition states which
of the others are done.
"""

from collections.abc import Iterable, Mapping

from cordwood.client.network.response_errors import error_of
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)


class RecordDeletion:
    """One call; `pending` are the partitions without a final answer."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.starts: dict[TopicPartition, int] = {}
        self._offsets = offsets
        self._failures: dict[TopicPartition, KafkaError] = {}

    @property
    def pending(self) -> list[TopicPartition]:
        """Partitions to be sent."""
        return [
            each for each in self._offsets if each not in self.starts and not self._has_failed(each)
        ]

    def request(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: int
    ) -> DeleteRecordsRequest:
        """Return the request to the leader of these partitions."""
        topics = [
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=each.partition, offset=self._offsets[each]
                    )
                    for each in members
                ],
            )
            for topic, members in by_topic(partitions).items()
        ]
        return DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)

    def handle_response(self, response: DeleteRecordsResponse) -> None:
        """Store the log start offsets and the errors."""
        for topic in response.topics:
            for each in topic.partitions:
                (partition,) = partitions_of([(topic.name, each.partition_index)])
                if each.error_code:
                    self._failures[partition] = error_of(each.error_code, subject=str(partition))
                else:
                    self._failures.pop(partition, None)
                    self.starts[partition] = each.low_watermark

    def fail(self, partitions: Iterable[TopicPartition], error: KafkaError) -> None:
        """Store the error of partitions that could not be sent, or have no response."""
        for each in partitions:
            self._failures[each] = error

    def ensure_answered(self) -> None:
        """Raise the error of a partition that has to be sent again."""
        for each in self.pending:
            if each in self._failures:
                raise self._failures[each]

    def ensure_success(self) -> None:
        """Raise the error of the first partition that failed for good."""
        for error in self._failures.values():
            raise self.described(error)

    def described(self, error: KafkaError) -> KafkaError:
        """Return the error of the call, with the state of the other partitions."""
        if len(self._offsets) == 1:
            return error
        done = ", ".join(f"{each} up to {start}" for each, start in self.starts.items())
        others = ", ".join(str(each) for each in self._offsets if each not in self.starts)
        made = type(error)(f"{error}; deleted: {done or 'none'}; not confirmed: {others}")
        made.__cause__ = error
        return made

    def _has_failed(self, partition: TopicPartition) -> bool:
        failure = self._failures.get(partition)
        return failure is not None and not failure.retriable
