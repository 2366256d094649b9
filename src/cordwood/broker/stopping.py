"""A signal that it is time to come to an end: given once, and heard by those who came before it.

Every connection has one. It is given when the server stops and when the peer has gone: a request
that waits for something to happen answers then with what it has.
"""

from collections.abc import Callable


class Stopping:
    """Whether the end has begun, and whom to tell."""

    __slots__ = ("_calls", "has_begun")

    def __init__(self) -> None:
        self.has_begun = False
        self._calls: dict[Callable[[], object], None] = {}

    def begin(self) -> None:
        """Make every call that waits for this, once; beginning again does nothing."""
        self.has_begun = True
        calls, self._calls = self._calls, {}
        for call in calls:
            call()

    def watch(self, call: Callable[[], object]) -> None:
        """Make the call when the end begins; at once if it has."""
        if self.has_begun:
            call()
        else:
            self._calls[call] = None

    def unwatch(self, call: Callable[[], object]) -> None:
        """Forget a call. It may have been made, or never asked for."""
        self._calls.pop(call, None)
