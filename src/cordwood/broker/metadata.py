"""The present image of the cluster. One writer publishes it; whoever reads it keeps what it got."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from cordwood.broker.image import ClusterImage

T = TypeVar("T")


class Metadata:
    """What is known of the cluster now. It is used on one thread."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._made: dict[Hashable, object] = {}

    @property
    def image(self) -> ClusterImage:
        """The latest image."""
        return self._image

    def publish(self, image: ClusterImage) -> None:
        """Let an image be the latest one; what was made of the one before is forgotten."""
        assert image.epoch > self._image.epoch, "an image replaces an older one"
        self._image = image
        self._made.clear()

    def made(self, key: Hashable, make: Callable[[ClusterImage], T]) -> T:
        """Return what `make` makes of the latest image, made once for every key."""
        if key not in self._made:
            self._made[key] = make(self._image)
        return cast("T", self._made[key])
