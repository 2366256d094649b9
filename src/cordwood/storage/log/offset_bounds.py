"""The offsets that bound a log, and the only methods that move them.

    log start        the first offset that is served; records below it count as deleted
    high watermark   the first offset that is not on all in-sync replicas: consumers read up to it
    log end          the next offset to be written
    recovery point   the first offset that is not known to be durable
    first unstable   the first offset of the oldest undecided transaction, or None
    cleaned to       the first offset that has not been cleaned, None if the log was never cleaned;
                     the cleaner checkpoint verbatim, which may predate this incarnation of the log
    truncations      the number of truncations: after one, an offset may stand for another record

Invariants, asserted after every change: log start <= high watermark <= log end, and recovery
point <= log end. The last stable offset, up to which read_committed consumers read, is the first
unstable offset if that is below the high watermark, else the high watermark.
"""

from cordwood.core.types import Offset


class OffsetBounds:
    """The present bounds of one log."""

    __slots__ = (
        "cleaned_to",
        "first_unstable",
        "high_watermark",
        "log_end",
        "log_start",
        "recovery_point",
        "truncations",
    )

    def __init__(
        self, *, log_start: int, log_end: int, high_watermark: int = 0, recovery_point: int = 0
    ) -> None:
        self.log_start = Offset(log_start)
        self.log_end = Offset(log_end)
        self.high_watermark = Offset(min(max(high_watermark, log_start), log_end))
        self.recovery_point = Offset(min(recovery_point, log_end))
        self.first_unstable: Offset | None = None
        self.cleaned_to: Offset | None = None
        self.truncations = 0
        self._ensure_in_order()

    def __repr__(self) -> str:
        return (
            f"OffsetBounds(log_start={self.log_start}, high_watermark={self.high_watermark}, "
            f"log_end={self.log_end}, recovery_point={self.recovery_point}, "
            f"first_unstable={self.first_unstable})"
        )

    @property
    def last_stable(self) -> Offset:
        """The offset up to which read_committed consumers read."""
        if self.first_unstable is not None and self.first_unstable < self.high_watermark:
            return self.first_unstable
        return self.high_watermark

    @property
    def unflushed(self) -> int:
        """The number of offsets that are not known to be durable."""
        return self.log_end - self.recovery_point

    def advance_log_end(self, log_end: int) -> None:
        """Advance the log end offset after an append."""
        assert log_end >= self.log_end, "an append advances the log end"
        self.log_end = Offset(log_end)
        self._ensure_in_order()

    def update_high_watermark(self, high_watermark: int) -> bool:
        """Set the high watermark, limited to log start and end; return whether it moved."""
        before = self.high_watermark
        self.high_watermark = Offset(min(max(high_watermark, self.log_start), self.log_end))
        self._ensure_in_order()
        return self.high_watermark != before

    def advance_recovery_point(self, offset: int) -> None:
        """Advance the recovery point after a flush, at most to the log end."""
        self.recovery_point = Offset(max(self.recovery_point, min(offset, self.log_end)))
        self._ensure_in_order()

    def set_cleaned_to(self, offset: int) -> None:
        """Set the offset where the next cleaning begins; it may move back."""
        assert self.log_start <= offset <= self.log_end, "the cleaned offset is within the log"
        self.cleaned_to = Offset(offset)

    def advance_log_start(self, log_start: int) -> bool:
        """Raise the log start offset, and the high watermark with it; return whether it moved."""
        if log_start <= self.log_start:
            return False
        assert log_start <= self.log_end, "the log start is not above the log end"
        self.log_start = Offset(log_start)
        self.high_watermark = Offset(max(self.high_watermark, log_start))
        self._ensure_in_order()
        return True

    def truncate_to(self, log_end: int) -> None:
        """Move the log end back, and every other bound with it that is above."""
        assert log_end <= self.log_end, "a truncation moves the log end back"
        self.truncations += 1
        self.log_end = Offset(log_end)
        self.recovery_point = Offset(min(self.recovery_point, log_end))
        self.high_watermark = Offset(min(self.high_watermark, log_end))
        self.log_start = Offset(min(self.log_start, log_end))
        self._limit_cleaned_to(log_end)
        self._ensure_in_order()

    def reset_to(self, offset: int, *, log_start: int | None = None) -> None:
        """Set the bounds of a log without records that continues at `offset`.

        Records below `offset` count as replicated. With `log_start`, the records between it and
        `offset` are stored elsewhere.
        """
        self.truncations += 1
        self.log_start = Offset(offset if log_start is None else log_start)
        self.log_end = self.high_watermark = Offset(offset)
        self.recovery_point = Offset(min(self.recovery_point, offset))
        self.first_unstable = None
        self._limit_cleaned_to(offset)
        self._ensure_in_order()

    def _limit_cleaned_to(self, log_end: int) -> None:
        if self.cleaned_to is not None:
            self.cleaned_to = Offset(min(self.cleaned_to, log_end))

    def _ensure_in_order(self) -> None:
        assert 0 <= self.log_start <= self.high_watermark <= self.log_end, repr(self)
        assert self.recovery_point <= self.log_end, repr(self)
