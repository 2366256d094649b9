"""Client of a request, as coordinators see it (Kafka: `AuthorizableRequestContext`)."""

from typing import NamedTuple


class ClientContext(NamedTuple):
    """The version of the request, and the fields that members are stored with.

    `host` has Java's form of an address, with a slash in front: `/127.0.0.1`.
    """

    api_version: int
    client_id: str = ""
    host: str = ""
