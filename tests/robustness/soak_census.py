"""Everything that a broker holds, counted by kind while it is at rest."""

import asyncio
import gc
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from cordwood.observability.exposition import expose
from tests.robustness.soak_broker import SoakBroker

MEMORY_BLOCKS: Final = "memory blocks"

_OFFSET: Final = re.compile(r"\d{20}")
_CONTAINERS: Final = (dict, list, set)
_CACHE: Final = type(lru_cache(len))
#: Growth that has a limit of its own: the interpreter caches 4,096 names of attributes, and the
#: metadata file has a thousand obsolete lines before it is rewritten.
_SLACK: Final = {
    "object cordwood.": 2,
    "object ": 8,
    "entries": 20,
    "bytes": 250_000,
    # One for each of a few reasons, of which the network decides when each occurs first.
    "series cordwood_connections_ended_total{": 1,
}
_BLOCKS_SLACK: Final = 8_000


def census_of_process() -> Counter[str]:
    """Return the number of objects, descriptors and threads of this process, by kind."""
    _clear_bounded_caches()
    gc.collect()
    found = Counter({MEMORY_BLOCKS: sys.getallocatedblocks(), "threads": threading.active_count()})
    for each in gc.get_objects():
        kind = type(each)
        found[f"object {kind.__module__}.{kind.__qualname__}"] += 1
        if kind in _CONTAINERS:
            found["entries"] += len(each)
    found.update(_descriptors())
    return found


def _clear_bounded_caches() -> None:
    """Empty the caches that fill up in days, such as those of the names of 4,096 groups."""
    for each in gc.get_objects():
        if isinstance(each, _CACHE) and each.cache_parameters()["maxsize"] is not None:
            each.cache_clear()


def census_of(broker: SoakBroker) -> Counter[str]:
    """Return the same with the tasks, timers, metrics and files of a broker."""
    found = census_of_process()
    found["tasks"] = len(asyncio.all_tasks())
    found["timers"] = broker.clock.timers
    found.update(f"series {line.rpartition(' ')[0]}" for line in _series(broker))
    for path in broker.folder.rglob("*"):
        found[f"file {_OFFSET.sub('N', str(path.relative_to(broker.folder)))}"] += 1
        found["bytes"] += path.stat().st_size if path.parent == broker.folder else 0
    return found


def growth(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    """Return by how much each kind has grown, above its slack."""
    return {
        kind: count - before[kind]
        for kind, count in sorted(after.items())
        if count - before[kind] > _slack_of(kind)
    }


def _slack_of(kind: str) -> int:
    if kind == MEMORY_BLOCKS:
        return _BLOCKS_SLACK
    return next((slack for prefix, slack in _SLACK.items() if kind.startswith(prefix)), 0)


def _series(broker: SoakBroker) -> Iterator[str]:
    lines = "".join(expose(broker.node.metrics)).splitlines()
    return (line for line in lines if not line.startswith("#"))


def _descriptors() -> Iterator[str]:
    """Yield the kind of each open descriptor: a path, or a word such as "socket"."""
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:  # the one of the listing itself
            continue
        yield f"descriptor {_OFFSET.sub('N', target.partition(':')[0])}"
