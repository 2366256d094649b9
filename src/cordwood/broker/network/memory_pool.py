"""Memory pool for request frames of all connections (Kafka: `SimpleMemoryPool`).

The pool counts the bytes of a frame as they arrive, until its request has been handled. An
announced size costs nothing. Frames up to SMALL_FRAME_BYTES are not counted; the connections bound
their number. The pool has two shares, so that large requests never take the memory of smaller ones:

    small    frames up to 2 MiB, or a sixteenth of the largest request if that is less
    large    all other frames: room for the largest request, and at least an eighth of it on top

`queued.max.request.bytes` is the sum of both, and never less than 5/4 of the largest request.

The rule of a share: one incomplete frame at a time has the turn. The others receive while their
incomplete bytes leave room for the largest frame of the share. A frame that finds no room takes the
turn if it is free; otherwise it waits. The longest waiting frame has the turn next. So the frame
with the turn never waits for another incomplete frame, only for requests that are being handled,
and half-received frames cannot block each other.

A share may exceed its capacity by SMALL_FRAME_BYTES per connection, never by more: a connection
notices a lack of room at its next read. A waiting frame is resumed with bytes that are reserved.
"""

from collections.abc import Callable
from typing import Final

from cordwood.broker.network.connection_quotas import SocketServerSettings

#: Frames up to this size are not counted, and are received through one shared buffer. A request
#: with one batch of a client's default size, 16 KB and its header, needs a single read.
SMALL_FRAME_BYTES: Final = 32 * 1024
#: The largest frame of the small share: a produce request of a client's default settings fits.
SMALL_REQUEST_BYTES: Final = 2 * 1024 * 1024
#: A frame that has waited is resumed with room for this number of bytes, or for less.
_RESERVED_BYTES: Final = 64 * 1024


class MemoryPool:
    """The memory of counted frames.

    `settings` is called for each frame, and by `admit_waiting`, since the settings may change.
    """

    __slots__ = ("_known", "_large", "_settings", "_small")

    def __init__(self, settings: Callable[[], SocketServerSettings]) -> None:
        self._settings = settings
        self._known: SocketServerSettings | None = None
        self._small = MemoryShare()
        self._large = MemoryShare()

    @property
    def allocated(self) -> int:
        """The counted bytes of all frames."""
        return self._small.used + self._large.used

    @property
    def is_short(self) -> bool:
        """Whether a frame waits for memory."""
        return bool(self._small.waiting or self._large.waiting)

    def open(self, size: int, resume: Callable[[], object]) -> "FrameMemory":
        """Return the memory of a frame above SMALL_FRAME_BYTES, which has no bytes yet.

        `resume` is called when the frame has waited and has room again.
        """
        self._follow_settings()
        return FrameMemory(
            size, self._small if size <= self._small.largest else self._large, resume
        )

    def admit_waiting(self) -> None:
        """Resume the waiting frames that have room; the limit may have grown."""
        self._follow_settings()
        self._small.resume_waiting()
        self._large.resume_waiting()

    def _follow_settings(self) -> None:
        settings = self._settings()
        if settings is self._known:
            return
        self._known, largest = settings, settings.request_max_bytes
        total = max(settings.queued_max_bytes, largest + largest // 4)
        small = min(total // 2, total - largest - largest // 8)
        self._small.resize(small, largest=min(SMALL_REQUEST_BYTES, largest // 16))
        self._large.resize(total - small, largest=largest)


class MemoryShare:
    """One share of the pool; the module's docstring has its rule.

    `incomplete` counts the incomplete frames without the turn, `used` all frames.
    """

    __slots__ = ("capacity", "incomplete", "largest", "turn", "used", "waiting")

    def __init__(self) -> None:
        self.capacity = self.largest = 0
        self.used = self.incomplete = 0
        self.turn: FrameMemory | None = None
        self.waiting: dict[FrameMemory, None] = {}

    def resize(self, capacity: int, *, largest: int) -> None:
        """Set the capacity, and the size of the largest frame."""
        self.capacity, self.largest = capacity, largest

    def room_for(self, frame: "FrameMemory") -> int:
        """Return the bytes that a frame may take now; 0 or less if there is no room."""
        room = self.capacity - self.used
        if frame is self.turn:
            # The excess of other incomplete frames must not stop this one.
            return max(room, self.largest - (self.used - self.incomplete))
        return min(room, self.capacity - self.largest - self.incomplete)

    def count(self, frame: "FrameMemory", count: int) -> None:
        """Add bytes of an incomplete frame, a negative number to give bytes back."""
        self.used += count
        if frame is not self.turn:
            self.incomplete += count

    def begin_wait(self, frame: "FrameMemory") -> bool:
        """Give the frame the turn if it is free, else let it wait; return whether it has room."""
        if self.turn is None:
            self._give_turn(frame)
        if self.room_for(frame) >= frame.needed:
            return True
        self.waiting[frame] = None
        return False

    def end_arrival(self, frame: "FrameMemory") -> None:
        """Remove a frame from the incomplete ones; its bytes stay counted."""
        if frame is self.turn:
            self.turn = None
        else:
            self.incomplete -= frame.held

    def resume_waiting(self) -> None:
        """Resume the frame with the turn, then other waiting frames in order, if there is room."""
        if not self.waiting:
            return
        if self.turn is None:
            self._give_turn(next(iter(self.waiting)))
        if self.turn in self.waiting:
            self._resume(self.turn)
        while self.waiting and self._resume(next(iter(self.waiting))):
            pass

    def _give_turn(self, frame: "FrameMemory") -> None:
        self.turn = frame
        self.incomplete -= frame.held

    def _resume(self, frame: "FrameMemory") -> bool:
        room = self.room_for(frame)
        if room < frame.needed:
            return False
        reserved = min(room, frame.missing, _RESERVED_BYTES)
        del self.waiting[frame]
        self.count(frame, reserved)
        frame.resume(reserved)
        return True


class FrameMemory:
    """The memory of one frame, from its first bytes until its request has been handled."""

    __slots__ = ("_reserved", "_resume", "_share", "held", "missing")

    def __init__(self, size: int, share: MemoryShare, resume: Callable[[], object]) -> None:
        #: The bytes that are counted, reserved ones included, and those that have not arrived.
        self.held = 0
        self.missing = size
        self._reserved = 0
        self._share = share
        self._resume = resume

    @property
    def is_needed(self) -> bool:
        """Whether another frame waits for memory of the same share."""
        return bool(self._share.waiting)

    @property
    def is_waiting(self) -> bool:
        """Whether this frame waits for room."""
        return self in self._share.waiting

    @property
    def needed(self) -> int:
        """The smallest room that is worth a read."""
        return min(self.missing, SMALL_FRAME_BYTES)

    def room(self) -> int:
        """Return the bytes that may be received now; 0 or less if there is no room."""
        return self._reserved or self._share.room_for(self)

    def add(self, count: int) -> None:
        """Count received bytes; a reservation is over."""
        added, self._reserved = count - self._reserved, 0
        self.missing -= count
        self.held += added
        self._share.count(self, added)
        if not self.missing:
            self._share.end_arrival(self)
            self._share.resume_waiting()
        elif added < 0:
            self._share.resume_waiting()

    def may_receive(self) -> bool:
        """Return whether there is room for a read; if not, the frame waits from now on."""
        return self.room() >= SMALL_FRAME_BYTES or self._share.begin_wait(self)

    def resume(self, reserved: int) -> None:
        """End the wait with a reservation, which is counted already."""
        self._reserved = reserved
        self.held += reserved
        self._resume()

    def release(self) -> None:
        """Release all bytes, of a complete frame or of one that will not be completed."""
        share = self._share
        if self.missing:
            share.waiting.pop(self, None)
            share.end_arrival(self)
        share.used -= self.held
        self.held = self.missing = self._reserved = 0
        share.resume_waiting()
