"""Base of the blocking clients: a client of `aio` on an event loop in its own thread."""

import weakref
from collections.abc import Callable, Coroutine
from typing import Protocol, Self, TypeAlias

from cordwood.client.loop_thread import LoopThread
from cordwood.client.settings import ClientSettings

Closing: TypeAlias = Coroutine[object, object, None]


class AsyncioClient(Protocol):
    """One of the clients of `aio`."""

    @property
    def settings(self) -> ClientSettings:
        """The client's settings."""

    async def start(self) -> None:
        """Start on the running loop."""

    async def close(self) -> None:
        """Close the client."""


class BlockingClient:
    """Base of the three clients: the loop thread, and closing."""

    def __init__(self, client: AsyncioClient, finalize: Callable[[], Closing]) -> None:
        """Start a client; `finalize` closes one that its user did not close."""
        self.settings = client.settings
        self._shown = client
        self._thread = LoopThread(f"cordwood-{client.settings.client_id}")
        try:
            self._thread.run(client.start())
        except BaseException:
            self._thread.end(client.close)
            raise
        self._close = client.close
        self._finalize = weakref.finalize(self, self._thread.end, finalize)

    def __repr__(self) -> str:
        return repr(self._shown).replace(".aio", "", 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client and its thread; a producer flushes first.

        >>> client = cordwood.Admin("127.0.0.1:9092")
        >>> client.close()
        """
        self._thread.ensure_other_thread()
        self._finalize.detach()
        self._thread.end(self._close)
