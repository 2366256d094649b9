"""Readers that a fetch session keeps over its polls (Kafka: none); see `idle_reader`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cordwood.storage.log.log_read import FetchIsolation


class SessionReader(Protocol):
    """A reader that waits at the end of a partition; `index` is its place in the last fetch."""

    index: int

    def is_idle(self, isolation: FetchIsolation, *, high_watermark: int, log_start: int) -> bool:
        """Whether a read with this isolation would find nothing but these bounds."""

    def release(self) -> None:
        """End the wait."""


@dataclass(slots=True)
class SessionReaders:
    """The readers of one session; `on_move` is a call of the fetch that waits for them."""

    on_move: Callable[[SessionReader], object] | None = None
