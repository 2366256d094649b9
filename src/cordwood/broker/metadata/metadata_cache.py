"""Latest image of the cluster, published by one writer (Kafka: `MetadataCache`)."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from cordwood.broker.metadata.metadata_image import ClusterImage

T = TypeVar("T")


class MetadataCache:
    """The latest image and the values derived from it. Used on one thread."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._derived: dict[Hashable, object] = {}

    @property
    def image(self) -> ClusterImage:
        """The latest image."""
        return self._image

    def publish(self, image: ClusterImage) -> None:
        """Replace the latest image and drop the values derived from the old one."""
        assert image.epoch > self._image.epoch, "an image replaces an older one"
        self._image = image
        self._derived.clear()

    def derive(self, key: Hashable, make: Callable[[ClusterImage], T]) -> T:
        """Return `make(image)` for the latest image, computed once a key and image."""
        if key not in self._derived:
            self._derived[key] = make(self._image)
        return cast("T", self._derived[key])
