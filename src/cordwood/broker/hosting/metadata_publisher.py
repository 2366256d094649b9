"""Publication of cluster images (Kafka: `BrokerMetadataPublisher`).

The difference between the published image and the next one is applied to the partitions of this
broker; then the image is published. So clients are never sent to a partition that is not served.
"""

from collections.abc import Callable
from typing import Final

from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.broker.metadata.metadata_writer import MetadataChange
from cordwood.broker.metadata.replica_changes import replica_changes

#: Partitions that are changed in one loop turn.
_PER_TURN: Final = 20


class MetadataPublisher:
    """Publishes the images of one broker."""

    def __init__(self, metadata: MetadataCache, hosting: TopicHosting) -> None:
        self._metadata = metadata
        self._hosting = hosting

    def publish(self, image: ClusterImage) -> None:
        """Apply an image at once, and publish it."""
        apply_image(self._hosting, image, before=self._metadata.image)
        self._metadata.publish(image)

    async def publish_in_turns(
        self, make: Callable[[ClusterImage], ClusterImage], change: MetadataChange
    ) -> None:
        """Apply the image that `make` returns for the present one, in several loop turns.

        Partitions may fail meanwhile, which publishes an image. So `make` is called again for the
        final one; the rest of the difference is applied at once.
        """
        node_id, present = self._hosting.partitions.node_id, self._metadata.image
        applied = make(present)
        changes = replica_changes(present, applied, node_id=node_id)
        for count, each in enumerate(changes, start=1):
            self._hosting.apply(each)
            if count % _PER_TURN == 0:
                await change.yield_turn()
        final = make(self._metadata.image)
        apply_image(self._hosting, final, before=applied)
        self._metadata.publish(final)


def apply_image(hosting: TopicHosting, image: ClusterImage, *, before: ClusterImage) -> None:
    """Apply the difference between two images to the partitions of this broker."""
    for change in replica_changes(before, image, node_id=hosting.partitions.node_id):
        hosting.apply(change)
