"""Reads with one-shot watches, and their results until a watch is called.

A read leaves a watch and its result is kept. Another read of the same node returns the kept result:
without a call of the watch it is still the newest one. So no change falls between a read and its
watch, and a change of one of 10,000 topics costs one read.

The watch counts from before its request, since it can be called before the request's result is
taken. A request that fails leaves none.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from cordwood.cluster.zookeeper.client.zookeeper_client import NodeStat, Watch
from cordwood.cluster.zookeeper.client.zookeeper_errors import NoNodeError
from cordwood.cluster.zookeeper.store.retried_requests import (
    RetriedRequests,
    pipelined,
    repeated,
)

T = TypeVar("T")


class _Watched:
    """The watch of one node; `is_armed` until it is called."""

    __slots__ = ("_on_change", "is_armed")

    def __init__(self, on_change: Callable[[], object]) -> None:
        self._on_change = on_change
        self.is_armed = True

    def __call__(self) -> None:
        self.is_armed = False
        self._on_change()


class WatchedReads:
    """Reads of one subject; each watch calls `on_change`, after which the subject reads again."""

    def __init__(self, requests: RetriedRequests, on_change: Callable[[], object]) -> None:
        self.requests = requests
        self._on_change = on_change
        self._names = dict[str, tuple[_Watched, list[str]]]()
        self._stats = dict[str, tuple[_Watched, NodeStat | None]]()

    async def children(self, path: str) -> tuple[list[str], bool]:
        """Return the names of a node's children, sorted, and whether they were read again.

        There are none if the node does not exist.
        """
        while True:
            kept = self._names.get(path)
            if kept is not None and kept[0].is_armed:
                return kept[1], False
            watched = _Watched(self._on_change)
            try:
                names = await repeated(_children(self.requests, path, watched))
            except NoNodeError:
                # Its creation is watched instead.
                if (await self.stats([path]))[0] is None:
                    return [], True
                continue
            self._names[path] = watched, names
            return names, True

    async def stats(self, paths: Sequence[str]) -> list[NodeStat | None]:
        """Return the facts of nodes, None for those that do not exist; in one pipeline."""
        outdated = [path for path in paths if not self._has_stat(path)]
        watches = [_Watched(self._on_change) for _ in outdated]
        outcomes = await pipelined(
            [
                _exists(self.requests, path, watched)
                for path, watched in zip(outdated, watches, strict=True)
            ]
        )
        for path, watched, outcome in zip(outdated, watches, outcomes, strict=True):
            if outcome.error is not None:
                raise outcome.error
            self._stats[path] = watched, outcome.result
        return [self._stats[path][1] for path in paths]

    def forget_others(self, paths: Sequence[str]) -> None:
        """Drop the facts of all nodes but these."""
        left = {*paths}
        self._stats = {path: kept for path, kept in self._stats.items() if path in left}

    def _has_stat(self, path: str) -> bool:
        kept = self._stats.get(path)
        return kept is not None and kept[0].is_armed


def _children(
    requests: RetriedRequests, path: str, watch: Watch
) -> Callable[[], Awaitable[list[str]]]:
    return lambda: requests.client.children(path, watch=watch)


def _exists(
    requests: RetriedRequests, path: str, watch: Watch
) -> Callable[[], Awaitable[NodeStat | None]]:
    return lambda: requests.client.exists(path, watch=watch)
