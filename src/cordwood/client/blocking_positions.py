"""Positions and offsets of the blocking consumer; `aio.Consumer` explains each call."""

from collections.abc import Iterable, Mapping
from typing import Generic

from cordwood.client.consumer.consumer import Consumer as AsyncioConsumer
from cordwood.client.consumer.offset_fetcher import FoundOffset
from cordwood.client.loop_thread import LoopThread
from cordwood.client.serializers import ReadK, ReadV
from cordwood.core.types import TopicPartition


class BlockingPositions(Generic[ReadK, ReadV]):
    """Calls about positions and offsets; `Consumer` has them."""

    _consumer: AsyncioConsumer[ReadK, ReadV]
    _thread: LoopThread

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Assign partitions; those that were assigned before keep their positions.

        With a group, a partition begins at its committed offset; the group assigns nothing. The
        broker may create a missing topic; `allow_auto_create_topics=False` prevents it.

        >>> consumer.assign([("orders", 0), ("orders", 1)])
        """
        self._thread.call(lambda: self._consumer.assign(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.assignment()
        (TopicPartition(topic='orders', partition=0),)
        """
        return self._consumer.assignment()

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Set the position of a partition.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.seek(("orders", 0), 1)
        >>> [record.value for record in consumer.poll()]
        [b'4 posts', b'5 planks']
        """
        self._thread.call(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the log start offset, of all partitions if none is given.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.seek_to_beginning()
        >>> consumer.position(("orders", 0))
        0
        """
        self._thread.call(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the end of the log, of all partitions if none is given.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.seek_to_end()
        >>> consumer.position(("orders", 0))
        3
        """
        self._thread.call(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Set positions to the first record at or after a timestamp, else to the end.

        Args:
            timestamp_ms: Milliseconds since 1970.
            partitions: Pairs of topic and partition, by default all that are assigned.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.seek_to_timestamp(1_700_000_000_000)
        >>> consumer.position(("orders", 0))
        0
        """
        self._thread.call(lambda: self._consumer.seek_to_timestamp(timestamp_ms, *partitions))

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Return no records of these partitions, or of all, until `resume`.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.pause(("orders", 0))
        >>> consumer.poll(10)
        []
        """
        self._thread.call(lambda: self._consumer.pause(*partitions))

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Return records of these partitions, or of all, again.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.pause()
        >>> consumer.resume()
        >>> len(consumer.poll())
        3
        """
        self._thread.call(lambda: self._consumer.resume(*partitions))

    def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, as soon as it is resolved.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.position(("orders", 0))
        0
        """
        return self._thread.run(self._consumer.position(partition))

    def beginning_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition.

        >>> consumer.beginning_offsets([("orders", 0)])[("orders", 0)]
        0
        """
        return self._thread.run(self._consumer.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return each partition's next offset, the last stable one under read_committed.

        >>> consumer.end_offsets([("orders", 0)])[("orders", 0)]
        3
        """
        return self._thread.run(self._consumer.end_offsets(partitions))

    def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first offset at or after each timestamp, None if there is none.

        >>> consumer.offsets_for_times({("orders", 0): 1_700_000_000_000})[("orders", 0)].offset
        0
        """
        return self._thread.run(self._consumer.offsets_for_times(timestamps_ms))

    def ends_of_epochs(self, epochs: Mapping[tuple[str, int], int]) -> dict[TopicPartition, int]:
        """Return where each partition's leader epoch ends; -1 if its leader does not know it.

        >>> consumer.ends_of_epochs({("orders", 0): 0})[("orders", 0)]
        3
        """
        return self._thread.run(self._consumer.ends_of_epochs(epochs))
