"""Listening sockets, which accept connections while there is room (Kafka: `Acceptor`)."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import ListenError

#: Connections that are accepted in one loop turn.
_ACCEPTS_PER_TURN: Final = 64
#: The operating system has no resources for another connection now.
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """The address to listen on: an empty host for every address, port 0 for any free port.

    `tls` returns the context of the next handshake.
    """

    name: str
    host: str
    port: int
    backlog: int = 50
    tls: Callable[[], ssl.SSLContext] | None = None


class Acceptor:
    """An open listener. It calls `has_room` before each accept and `accepted` after it.

    `failed` receives errors of exhausted system resources.
    """

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
        self._is_accepting = False

    def open(self) -> Address:
        """Listen and return the bound address; raise ListenError if that fails."""
        try:
            self._socket = _bound(self._listener)
        except OSError as error:
            where = Address(self._listener.host or "*", self._listener.port)
            raise ListenError(
                f"listener {self._listener.name} cannot listen on {where}: {error.strerror}",
                key="listeners",
                remedy="choose an address of this machine and a free port",
            ) from error
        self._socket.settimeout(0)
        self.resume()
        return _address(self._socket.getsockname())

    def resume(self) -> None:
        """Begin to accept, or continue after a pause."""
        if self._socket is not None and not self._is_accepting:
            self._is_accepting = True
            self._loop.add_reader(self._socket, self._accept, self._socket)

    def close(self) -> None:
        """Stop accepting and close the socket."""
        self._pause()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _pause(self) -> None:
        if self._socket is not None and self._is_accepting:
            self._is_accepting = False
            self._loop.remove_reader(self._socket)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTS_PER_TURN):
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
    """Return the address of a socket; an IPv4-mapped IPv6 address becomes an IPv4 address."""
    host, port = name[:2]
    return Address(str(host).removeprefix("::ffff:"), int(str(port)))
