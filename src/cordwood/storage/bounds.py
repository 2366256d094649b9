"""The offsets that bound a log, moved in one place, where what holds between them is asserted.

    log start        the first offset that is served; what is below it counts as deleted
    high watermark   the first offset that is not on all in-sync replicas yet: readers stop there
    log end          the next offset to be written
    recovery point   the first offset that is not known to be on disk
    first unstable   the first offset of an undecided transaction, or None
    cleaned to       the first offset that the cleaner has not come to; None if it has never come.
                     It is the cleaner's checkpoint as it stands, be it of another log's life
    cuts             how often the end has moved back: who looked before may know other records

Always: log start <= high watermark <= log end, and recovery point <= log end. The last stable
offset, where read_committed stops, is the first unstable one if it is below the high watermark.
"""

from cordwood.core.types import Offset


class OffsetBounds:
    """The present bounds of one log. Every change leaves them in order."""

    __slots__ = (
        "cleaned_to",
        "cuts",
        "first_unstable",
        "high_watermark",
        "log_end",
        "log_start",
        "recovery_point",
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
        self.cuts = 0
        self._ensure_in_order()

    def __repr__(self) -> str:
        return (
            f"OffsetBounds(log_start={self.log_start}, high_watermark={self.high_watermark}, "
            f"log_end={self.log_end}, recovery_point={self.recovery_point}, "
            f"first_unstable={self.first_unstable})"
        )

    @property
    def last_stable(self) -> Offset:
        """Where read_committed stops."""
        if self.first_unstable is not None and self.first_unstable < self.high_watermark:
            return self.first_unstable
        return self.high_watermark

    def appended(self, log_end: int) -> None:
        """Records up to `log_end` have been written."""
        assert log_end >= self.log_end, "an append moves the end forward"
        self.log_end = Offset(log_end)
        self._ensure_in_order()

    def replicated(self, high_watermark: int) -> bool:
        """Set the high watermark, kept between start and end; say whether it moved."""
        before = self.high_watermark
        self.high_watermark = Offset(min(max(high_watermark, self.log_start), self.log_end))
        self._ensure_in_order()
        return self.high_watermark != before

    def flushed(self, offset: int) -> None:
        """Everything below `offset` is on disk; what has been truncated since does not count."""
        self.recovery_point = Offset(max(self.recovery_point, min(offset, self.log_end)))
        self._ensure_in_order()

    def cleaned(self, offset: int) -> None:
        """The cleaner has come to `offset`."""
        assert self.log_start <= offset <= self.log_end, "what is cleaned is in the log"
        self.cleaned_to = Offset(offset)

    def started_at(self, log_start: int) -> bool:
        """Raise the start, and the high watermark with it; say whether it moved."""
        if log_start <= self.log_start:
            return False
        assert log_start <= self.log_end, "nothing is served from beyond the end"
        self.log_start = Offset(log_start)
        self.high_watermark = Offset(max(self.high_watermark, log_start))
        self._ensure_in_order()
        return True

    def truncated(self, log_end: int) -> None:
        """Records from `log_end` on are gone; no bound stays beyond it."""
        assert log_end <= self.log_end, "a truncation moves the end back"
        self.cuts += 1
        self.log_end = Offset(log_end)
        self.recovery_point = Offset(min(self.recovery_point, log_end))
        self.high_watermark = Offset(min(self.high_watermark, log_end))
        self.log_start = Offset(min(self.log_start, log_end))
        self._cut_cleaned(log_end)
        self._ensure_in_order()

    def restarted_at(self, offset: int, *, log_start: int | None = None) -> None:
        """Nothing is left, and writing goes on at `offset`, below which all is replicated.

        What lies from `log_start` up to there is kept elsewhere.
        """
        self.cuts += 1
        self.log_start = Offset(offset if log_start is None else log_start)
        self.log_end = self.high_watermark = Offset(offset)
        self.recovery_point = Offset(min(self.recovery_point, offset))
        self.first_unstable = None
        self._cut_cleaned(offset)
        self._ensure_in_order()

    def _cut_cleaned(self, log_end: int) -> None:
        if self.cleaned_to is not None:
            self.cleaned_to = Offset(min(self.cleaned_to, log_end))

    def _ensure_in_order(self) -> None:
        assert 0 <= self.log_start <= self.high_watermark <= self.log_end, repr(self)
        assert self.recovery_point <= self.log_end, repr(self)
