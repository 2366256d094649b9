"""Latest image of the cluster, published by one writer (Kafka: `MetadataCache`)."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar, cast

from cordwood.broker.metadata.metadata_image import ClusterImage

T = TypeVar("T")


class MetadataCache:
    """The latest image and the values derived from it. Used on one thread."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._derived: dict[Hashable, object] = {}
        self._deriving: dict[Hashable, asyncio.Event] = {}
        self._watchers = list[Callable[[ClusterImage], object]]()

    @property
    def image(self) -> ClusterImage:
        """The latest image."""
        return self._image

    def publish(self, image: ClusterImage) -> None:
        """Replace the latest image and drop the values derived from the old one."""
        assert image.epoch > self._image.epoch, "an image replaces an older one"
        self._image = image
        self._derived.clear()
        for call in self._watchers:
            call(image)

    def on_publish(self, call: Callable[[ClusterImage], object]) -> None:
        """Add a callback for every later image, which must not publish another one."""
        self._watchers.append(call)

    async def derive(self, key: Hashable, make: Callable[[ClusterImage], Awaitable[T]]) -> T:
        """Return `make(image)` for the latest image, computed once a key and image.

        Later callers wait for the first one. If it is cancelled, the next one begins again.
        """
        while key not in self._derived:
            running = self._deriving.get(key)
            if running is not None:
                await running.wait()
                continue
            self._deriving[key] = running = asyncio.Event()
            image = self._image
            try:
                value = await make(image)
            finally:
                del self._deriving[key]
                running.set()
            if image is not self._image:
                return value
            self._derived[key] = value
        return cast("T", self._derived[key])
