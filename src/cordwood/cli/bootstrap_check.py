"""Check that a bootstrap broker listens, before a client retries for ten seconds in silence.

Only a refused connection or an unknown name counts as an answer. A broker that does not respond in
time may be slow or far away, so the client tries it with its own timeouts.
"""

import errno
import socket
from typing import Final

from cordwood.core.address import Address
from cordwood.core.errors import NetworkError

_PATIENCE_S: Final = 0.5


def ensure_listening(bootstrap_servers: str) -> None:
    """Raise NetworkError if every bootstrap broker refuses the connection, or has no address."""
    failures = []
    for text in bootstrap_servers.split(","):
        address = Address.parse(text.strip(), key="bootstrap.servers")
        failure = _failure(address)
        if failure is None:
            return
        failures.append(f"{address}: {failure}")
    raise NetworkError(
        f"no broker is reachable ({', '.join(failures)}); check --bootstrap-server, and that a"
        " broker is running"
    )


def _failure(address: Address) -> str | None:
    """Return why nothing listens at an address; None if that is not certain."""
    try:
        socket.create_connection((address.host, address.port), timeout=_PATIENCE_S).close()
    except ConnectionRefusedError:
        return "connection refused"
    except socket.gaierror:
        return "the host name is unknown"
    except OSError as error:
        is_certain = error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)
        return "the network is unreachable" if is_certain else None
    except UnicodeError:
        return "the host name is invalid"
    return None
