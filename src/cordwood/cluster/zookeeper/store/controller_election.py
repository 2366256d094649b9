"""Election of the controller (Kafka: `registerControllerAndIncrementControllerEpoch`).

One transaction creates the ephemeral `/controller` and increments `/controller_epoch`. So the epoch
belongs to exactly one controller, and the version of its node guards the writes of that controller.
"""

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CreateOp,
    DeleteOp,
    NodeStat,
    SetDataOp,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
)
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard, GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests, repeated
from cordwood.cluster.zookeeper.znodes.cluster_paths import CONTROLLER, CONTROLLER_EPOCH
from cordwood.cluster.zookeeper.znodes.controller_znode import (
    INITIAL_CONTROLLER_EPOCH,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from cordwood.core.ports import Clock


class ControllerElection:
    """Elections in which one broker takes part."""

    def __init__(self, client: ZooKeeperClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._requests = RetriedRequests(client)

    async def controller(self) -> int | None:
        """Return the id of the controller, None if there is none."""
        node = await self._requests.get(CONTROLLER)
        return None if node is None else decode_controller(node.data)

    async def elect(self, broker_id: int) -> ControllerGuard | None:
        """Become the controller and return the guard; None if another broker is or becomes it."""
        if await self._requests.exists(CONTROLLER) is not None:
            return None
        epoch, version = await self._epoch()
        claim = encode_controller(broker_id, timestamp_ms=self._clock.now_ms())
        try:
            results = await repeated(
                lambda: self._client.multi(
                    [
                        CreateOp(CONTROLLER, claim, ephemeral=True),
                        SetDataOp(CONTROLLER_EPOCH, encode_controller_epoch(epoch + 1), version),
                    ]
                )
            )
        except (NodeExistsError, BadVersionError):
            return await self._own_claim(epoch + 1)
        stat = results[1]
        assert isinstance(stat, NodeStat)
        return ControllerGuard(epoch + 1, stat.version)

    async def resign(self, guard: ControllerGuard) -> None:
        """Resign, so that a new election follows; StaleControllerEpochError if deposed."""
        (result,) = await GuardedWrites(self._client, guard).apply([DeleteOp(CONTROLLER)])
        if result.error is not None and not isinstance(result.error, NoNodeError):
            raise result.error

    async def _epoch(self) -> tuple[int, int]:
        """Return the epoch of the latest controller, and the version of its node."""
        while True:
            node = await self._requests.get(CONTROLLER_EPOCH)
            if node is not None:
                return decode_controller_epoch(node.data), node.stat.version
            data = encode_controller_epoch(INITIAL_CONTROLLER_EPOCH)
            try:
                await self._requests.create(CONTROLLER_EPOCH, data)
            except NodeExistsError:
                continue

    async def _own_claim(self, epoch: int) -> ControllerGuard | None:
        """Return the guard if the lost attempt of this session was applied."""
        claim, latest = await self._requests.get_all([CONTROLLER, CONTROLLER_EPOCH])
        if claim is None or latest is None:
            return None
        if claim.stat.ephemeral_owner != self._client.session_id:
            return None
        if decode_controller_epoch(latest.data) != epoch:
            return None
        return ControllerGuard(epoch, latest.stat.version)
