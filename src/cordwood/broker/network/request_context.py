"""Header of a request and its connection (Kafka: `RequestContext`)."""

from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.broker.network.stop_signal import StopSignal
from cordwood.core.address import Address


@dataclass(slots=True, kw_only=True, eq=False)
class ConnectionInfo:
    """One connection as its requests see it; `software_*` come from its last ApiVersions."""

    id: int
    host: str
    port: int
    listener: str
    is_secure: bool
    software_name: str = ""
    software_version: str = ""
    stopping: StopSignal = field(default_factory=StopSignal, repr=False)

    @property
    def peer(self) -> str:
        """The client's address, for logs."""
        return str(Address(self.host, self.port))


class RequestContext(NamedTuple):
    """A request's header and its connection."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: ConnectionInfo
