"""Transactional producers of one worker process, kept from task to task.

A producer that has left its transaction to the driver keeps its connections, its metadata and its
coordinator. The task that uses its transactional id again initializes it again, which is one
request. A producer whose task has failed is closed.
"""

import os
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from cordwood.client.blocking import Producer

#: A worker process alternates between two transactional ids of each query.
_MOST_KEPT: Final = 8

SinkProducer: TypeAlias = Producer[bytes, bytes]


class KeptProducers:
    """Producers that no task uses, by their configuration; the latest ones stay."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[tuple[str, str], ...], SinkProducer] = OrderedDict()

    def take(self, config: Mapping[str, str]) -> SinkProducer:
        """Return a producer, kept or new; no other task gets it until it is kept again."""
        return self._kept.pop(_key(config), None) or Producer[bytes, bytes].from_config(config)

    def keep(self, config: Mapping[str, str], producer: SinkProducer) -> None:
        """Keep a producer without an open transaction of its own."""
        self._kept[_key(config)] = producer
        while len(self._kept) > self._most:
            _, oldest = self._kept.popitem(last=False)
            oldest.close()

    def close(self) -> None:
        """Close all producers."""
        while self._kept:
            self._kept.popitem()[1].close()


def _key(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(config.items()))


def kept_producers() -> KeptProducers:
    """Return the producers of this process; a forked process has its own."""
    return _of_process(os.getpid())


@lru_cache(maxsize=1)
def _of_process(_process: int) -> KeptProducers:
    return KeptProducers()
