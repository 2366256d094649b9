"""Stop signal of a connection: a handler that waits must watch it.

It fires once, on server shutdown or on client disconnect. A long poll then returns the data that it
has.
"""

from collections.abc import Callable


class StopSignal:
    """A flag that is set once, with callbacks."""

    __slots__ = ("_calls", "has_fired")

    def __init__(self) -> None:
        self.has_fired = False
        self._calls: dict[Callable[[], object], None] = {}

    def fire(self) -> None:
        """Make every callback once; a second call does nothing."""
        self.has_fired = True
        calls, self._calls = self._calls, {}
        for call in calls:
            call()

    def watch(self, call: Callable[[], object]) -> None:
        """Add a callback; it is made at once if the signal has fired."""
        if self.has_fired:
            call()
        else:
            self._calls[call] = None

    def unwatch(self, call: Callable[[], object]) -> None:
        """Remove a callback; one that has been made or is unknown is ignored."""
        self._calls.pop(call, None)
