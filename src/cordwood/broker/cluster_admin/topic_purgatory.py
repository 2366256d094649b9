"""Requests that wait for the image of the cluster (Kafka: `topicPurgatory` of `ZkAdminManager`).

Kafka: `DelayedCreatePartitions`, `DelayedDeleteTopics`, `DelayedElectLeader`. A topic that is
stored exists for clients when the controller has sent its leaders to this broker.
"""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.network.stop_signal import StopSignal
from cordwood.broker.topics.request_deadline import RequestDeadline

IsComplete: TypeAlias = Callable[[ClusterImage], bool]


class TopicPurgatory:
    """The requests in wait; each ends with an image, at its deadline, or at the shutdown."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._waiting = dict[asyncio.Event, IsComplete]()
        self._is_closed = False
        metadata.on_publish(self._complete)

    async def wait(
        self,
        is_complete: IsComplete,
        deadline: RequestDeadline,
        *,
        stopping: StopSignal | None = None,
    ) -> None:
        """Wait until an image fulfils a condition; the caller looks at the latest image then."""
        if self._is_closed or deadline.is_over() or is_complete(self._metadata.image):
            return
        ended = asyncio.Event()
        timer = deadline.call(ended.set)
        self._waiting[ended] = is_complete
        if stopping is not None:
            stopping.watch(ended.set)
        try:
            await ended.wait()
        finally:
            if stopping is not None:
                stopping.unwatch(ended.set)
            timer.cancel()
            del self._waiting[ended]

    def close(self) -> None:
        """End all waits."""
        self._is_closed = True
        for ended in self._waiting:
            ended.set()

    def _complete(self, image: ClusterImage) -> None:
        for ended, is_complete in self._waiting.items():
            if is_complete(image):
                ended.set()
