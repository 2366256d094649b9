"""What is known of a request before its body is read: who asks, and for what."""

from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.broker.stopping import Stopping
from cordwood.core.address import Address


@dataclass(slots=True, kw_only=True, eq=False)
class ConnectionInfo:
    """One connection, as its requests see it. `software_*` is what its client last said it is."""

    id: int
    host: str
    port: int
    listener: str
    is_secure: bool
    software_name: str = ""
    software_version: str = ""
    stopping: Stopping = field(default_factory=Stopping, repr=False)

    @property
    def peer(self) -> str:
        """The other end, as logs name it."""
        return str(Address(self.host, self.port))


class RequestContext(NamedTuple):
    """A request's header, and the connection that it came by."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: ConnectionInfo
