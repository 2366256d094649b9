"""A blocking connection for requests of any version, flexible ones too."""

import socket
from typing import Final, TypeVar

from cordwood.client.network.in_flight_requests import InFlightRequests
from cordwood.protocol.codec import decode, joined
from cordwood.protocol.schema import Request, Response

R = TypeVar("R", bound=Response)

_PATIENCE_S: Final = 120


class Asker:
    """A connection whose requests are answered one by one."""

    def __init__(self, port: int) -> None:
        self._requests = InFlightRequests("bomber")
        self._socket = socket.create_connection(("127.0.0.1", port), _PATIENCE_S)
        self._answers = self._socket.makefile("rb")

    def ask(self, request: Request, kind: type[R], version: int | None = None) -> R:
        """Send a request, by default in its newest version, and return the response."""
        version = newest(request) if version is None else version
        self._socket.sendall(joined(self._requests.add(request, version)[1]))
        body = bytearray(self._answers.read(int.from_bytes(self._answers.read(4))))
        return decode(kind, self._requests.complete(body), version)

    def close(self) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()


def newest(request: Request) -> int:
    """Return the last version of a request."""
    return type(request).__schema__.versions[1]
