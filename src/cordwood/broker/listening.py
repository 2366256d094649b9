"""Where connections come in: sockets that listen, and accept while there is room."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import ListenError

#: How many are accepted before other connections get their turn.
_AT_ONCE: Final = 64
#: The operating system has no room for one more; it may have later.
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Where to listen. No host means every address of the machine, port 0 any that is free."""

    name: str
    host: str
    port: int
    backlog: int = 50
    tls: ssl.SSLContext | None = None


class ListeningSocket:
    """A listener at work. `has_room` is asked before `accepted` is told of one more."""

    def __init__(
        self,
        listener: Listener,
        *,
        has_room: Callable[[str], bool],
        accepted: Callable[[Listener, socket.socket, Address], object],
        failed: Callable[[Listener, OSError], object],
    ) -> None:
        self._listener = listener
        self._has_room = has_room
        self._accepted = accepted
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._is_listened_to = False

    def open(self) -> Address:
        """Listen and return the address that was bound. ListenError if that cannot be."""
        try:
            self._socket = _bound(self._listener)
        except OSError as error:
            where = Address(self._listener.host or "*", self._listener.port)
            raise ListenError(
                f"listener {self._listener.name} cannot listen on {where}: {error.strerror}",
                key="listeners",
                remedy="choose an address of this machine and a port that nobody has",
            ) from error
        self._socket.settimeout(0)
        self.resume()
        return _address(self._socket.getsockname())

    def resume(self) -> None:
        """Accept again if there is room by now."""
        if self._socket is not None and not self._is_listened_to:
            self._is_listened_to = True
            self._loop.add_reader(self._socket, self._accept, self._socket)

    def close(self) -> None:
        """Accept no more and give the address up."""
        self._pause()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _pause(self) -> None:
        if self._socket is not None and self._is_listened_to:
            self._is_listened_to = False
            self._loop.remove_reader(self._socket)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            if not self._has_room(self._listener.name):
                self._pause()
                return
            try:
                accepted, name = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                self._pause()
                self._failed(self._listener, error)
                return
            accepted.settimeout(0)
            self._accepted(self._listener, accepted, _address(name))


def _bound(listener: Listener) -> socket.socket:
    if not listener.host and socket.has_dualstack_ipv6():
        return socket.create_server(
            ("", listener.port),
            family=socket.AF_INET6,
            backlog=listener.backlog,
            dualstack_ipv6=True,
        )
    family = socket.getaddrinfo(listener.host or None, listener.port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server(
        (listener.host, listener.port), family=family, backlog=listener.backlog
    )


def _address(name: tuple[object, ...]) -> Address:
    """Return what a socket is called; an IPv4 address in the clothes of IPv6 is an IPv4 address."""
    host, port = name[:2]
    return Address(str(host).removeprefix("::ffff:"), int(str(port)))
