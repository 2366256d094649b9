"""Fence against controllers that were replaced (Kafka: `ReplicaManager.controllerEpoch`).

A controller that has lost its role may not know it yet, and its requests may arrive late. A request
for an earlier registration of this broker was decided before its restart.

A controller sends to a broker through one connection at a time, and repeats what was on its way
when it abandoned one. The abandoned request may arrive after later ones, so the connections decide.
Epochs are not enough: an image has none, and the requests about a topic that is deleted and created
again would each pass for the other topic. A late LeaderAndIsr would restore the log of the deleted
topic, and a late StopReplica would delete the log of the new one. Kafka has no such check.
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
        #: The connection of the last request, and the epoch of the controller that opened it.
        self._latest = 0, 0

    def admit(self, *, controller_epoch: int, broker_epoch: int, connection_id: int) -> None:
        """Accept a request; StaleBrokerEpochError, StaleControllerEpochError."""
        self.ensure_current(
            controller_epoch=controller_epoch,
            broker_epoch=broker_epoch,
            connection_id=connection_id,
        )
        self.controller_epoch = controller_epoch
        self._latest = controller_epoch, connection_id

    def ensure_current(
        self, *, controller_epoch: int, broker_epoch: int, connection_id: int
    ) -> None:
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
        epoch, latest_id = self._latest
        if controller_epoch == epoch and connection_id < latest_id:
            raise StaleControllerEpochError(
                f"the request came through connection {connection_id}; the controller of epoch "
                f"{epoch} has sent a later one through connection {latest_id}"
            )
