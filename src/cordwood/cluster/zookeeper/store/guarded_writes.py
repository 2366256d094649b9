"""Writes of a controller, each guarded by the controller epoch (Kafka: `MultiRequest` with
`CheckOp`).

    check  /controller_epoch has the version that this controller wrote
    write  the change, conditional on the version of its own node

So no write of a deposed controller is applied, however late it arrives: it fails with
StaleControllerEpochError. Without a guard the writes are those of any broker.

After a lost connection a write may fail because its first attempt was applied. The nodes decide
that: a node with the next version and these very bytes was written here.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    MATCH_ANY_VERSION,
    NO_SESSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiOp,
    MultiResult,
    NodeStat,
    SetDataOp,
    StoredNode,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import NoNodeError, ZooKeeperError
from cordwood.cluster.zookeeper.store.retried_requests import (
    RequestOutcome,
    RetriedRequests,
    pipelined,
    turns,
)
from cordwood.cluster.zookeeper.znodes.cluster_paths import CONTROLLER_EPOCH
from cordwood.core.errors import StaleControllerEpochError


class ControllerGuard(NamedTuple):
    """The epoch of a controller, and what proves that it is still the latest one."""

    epoch: int
    version: int


class WriteResult(NamedTuple):
    """The version of a written node, or the error; a removed node has no version."""

    version: int | None
    error: ZooKeeperError | None


class GuardedWrites:
    """Writes under a guard, or without one."""

    def __init__(self, client: ZooKeeperClient, guard: ControllerGuard | None) -> None:
        self._client = client
        self._requests = RetriedRequests(client)
        self._checks = [] if guard is None else [CheckOp(CONTROLLER_EPOCH, guard.version)]

    async def apply(self, operations: Iterable[MultiOp]) -> list[WriteResult]:
        """Apply each operation by itself, in pipelines; return a result for each.

        The operations are taken when they are sent: a generator encodes them in turns of the loop.
        """
        results = list[WriteResult]()
        for turn in turns(operations):
            outcomes = await pipelined([self._sender([each]) for each in turn])
            for operation, outcome in zip(turn, outcomes, strict=True):
                self._ensure_controller(outcome)
                results.append(await self._result(operation, outcome))
        return results

    async def delete_all(self, paths: Iterable[str]) -> None:
        """Remove nodes, each by itself, unless they are gone."""
        for result in await self.apply(DeleteOp(each) for each in paths):
            if result.error is not None and not isinstance(result.error, NoNodeError):
                raise result.error

    async def apply_together(self, operations: Sequence[MultiOp]) -> None:
        """Apply all operations or none; raise the error of the impossible one."""
        (outcome,) = await pipelined([self._sender([*operations])])
        self._ensure_controller(outcome)
        if outcome.error is None:
            return
        if outcome.is_repeated and await self._are_applied(operations):
            return
        raise outcome.error

    def _sender(self, operations: list[MultiOp]) -> Callable[[], Awaitable[list[MultiResult]]]:
        return lambda: self._client.multi([*self._checks, *operations])

    def _ensure_controller(self, outcome: RequestOutcome[list[MultiResult]]) -> None:
        error = outcome.error
        if error is not None and self._checks and error.operation == 0:
            raise StaleControllerEpochError(
                "the controller moved to another broker; this one no longer writes metadata"
            ) from error

    async def _result(
        self, operation: MultiOp, outcome: RequestOutcome[list[MultiResult]]
    ) -> WriteResult:
        if outcome.error is None:
            assert outcome.result is not None
            return WriteResult(_version(outcome.result[-1]), None)
        if not outcome.is_repeated:
            return WriteResult(None, outcome.error)
        node = await self._requests.get(operation.path)
        if not _is_applied(operation, node):
            return WriteResult(None, outcome.error)
        return WriteResult(None if node is None else node.stat.version, None)

    async def _are_applied(self, operations: Sequence[MultiOp]) -> bool:
        nodes = await self._requests.get_all([each.path for each in operations])
        return all(_is_applied(*each) for each in zip(operations, nodes, strict=True))


def _version(result: MultiResult) -> int | None:
    """Return the version of a written node."""
    if isinstance(result, NodeStat):
        return result.version
    return 0 if isinstance(result, str) else None


def _is_applied(operation: MultiOp, node: StoredNode | None) -> bool:
    """Return whether a node is as this operation leaves it."""
    if isinstance(operation, DeleteOp):
        return node is None
    if node is None:
        return False
    if isinstance(operation, CreateOp):
        return node.data == operation.data and node.stat.ephemeral_owner == NO_SESSION
    if isinstance(operation, SetDataOp):
        is_next = operation.version in {MATCH_ANY_VERSION, node.stat.version - 1}
        return is_next and node.data == operation.data
    return node.stat.version == operation.version
