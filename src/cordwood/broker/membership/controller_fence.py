"""Fence against controllers that were replaced (Kafka: `ReplicaManager.controllerEpoch`).

A controller that has lost its role may not know it yet, and its requests may arrive late. A request
for an earlier registration of this broker was decided before its restart.

A controller sends to a broker through one connection at a time. A request that was on its way when
its connection was abandoned may arrive after later ones. LeaderAndIsr and StopReplica have leader
epochs. An image has no epoch of its own, so the connections decide; Kafka has no such check.
"""

from collections.abc import Callable
from typing import Final

from cordwood.core.errors import StaleBrokerEpochError, StaleControllerEpochError

#: The epoch in a request without a broker epoch.
UNKNOWN_BROKER_EPOCH: Final = -1


class ControllerFence:
    """The epoch of the latest controller; `broker_epoch` returns that of this registration.

    Connections have increasing ids.
    """

    def __init__(self, broker_epoch: Callable[[], int]) -> None:
        self._broker_epoch = broker_epoch
        self.controller_epoch = 0
        #: The connection of the last image, and the epoch of the controller that opened it.
        self._image_from = 0, 0

    def admit(self, *, controller_epoch: int, broker_epoch: int) -> None:
        """Accept a request; StaleBrokerEpochError, StaleControllerEpochError."""
        self.ensure_current(controller_epoch=controller_epoch, broker_epoch=broker_epoch)
        self.controller_epoch = controller_epoch

    def ensure_current(self, *, controller_epoch: int, broker_epoch: int) -> None:
        """Raise for a request that `admit` rejects; the fence stays as it is.

        A later broker epoch is accepted: the controller may read a registration before the broker
        has the response to it.
        """
        if UNKNOWN_BROKER_EPOCH < broker_epoch < self._broker_epoch():
            raise StaleBrokerEpochError(
                f"the request is for broker epoch {broker_epoch}; this broker has registered again "
                f"with {self._broker_epoch()}"
            )
        if controller_epoch < self.controller_epoch:
            raise StaleControllerEpochError(
                f"the request has controller epoch {controller_epoch}; the latest controller has "
                f"{self.controller_epoch}"
            )

    def admit_image(self, *, controller_epoch: int, broker_epoch: int, connection_id: int) -> None:
        """Accept an image; an earlier connection of its controller is outdated too."""
        self.ensure_current(controller_epoch=controller_epoch, broker_epoch=broker_epoch)
        epoch, latest_id = self._image_from
        if controller_epoch == epoch and connection_id < latest_id:
            raise StaleControllerEpochError(
                f"the image came through connection {connection_id}; the controller of epoch "
                f"{epoch} has sent a later one through connection {latest_id}"
            )
        self.controller_epoch = controller_epoch
        self._image_from = controller_epoch, connection_id
