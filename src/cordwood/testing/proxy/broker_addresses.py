"""Addresses of brokers in responses, replaced so that clients stay behind a proxy.

Kafka's clients use the bootstrap addresses for their first connection only. All later ones go to
the addresses that a response lists: Metadata, DescribeCluster and FindCoordinator list brokers,
Produce and Fetch new leaders (KIP-951).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from cordwood.core.address import Address
from cordwood.protocol.apis import Api
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.header import append_response_header, read_response_header
from cordwood.protocol.messages.describe_cluster import DescribeClusterResponse
from cordwood.protocol.messages.fetch import FetchResponse
from cordwood.protocol.messages.find_coordinator import FindCoordinatorResponse
from cordwood.protocol.messages.metadata import MetadataResponse
from cordwood.protocol.messages.produce import ProduceResponse
from cordwood.protocol.schema import Response

AddressOf: TypeAlias = Callable[[Address], Awaitable[Address]]
"""Returns the proxy's own address for a broker."""


class HasAddress(Protocol):
    """A struct with the address of a broker."""

    host: str
    port: int


class ResponseFrame:
    """A response with its header, which can be changed and encoded again."""

    def __init__(self, frame: bytes, api: Api, version: int) -> None:
        view = memoryview(frame)
        self._header, at = read_response_header(view, api, version=version)
        self._api = api
        self._version = version
        self.message = decode(api.response(), view[at:], version)

    async def replace_addresses(self, address_of: AddressOf) -> bool:
        """Replace the addresses of brokers; return whether there are any."""
        is_changed = False
        for each in _LISTED.get(self._api.name, _of_none)(self.message):
            if each.host and each.port > 0:  # a coordinator that is not available has neither
                each.host, each.port = await address_of(Address(each.host, each.port))
                is_changed = True
        return is_changed

    def encode(self) -> bytes:
        """Return the frame without its length."""
        out = bytearray()
        append_response_header(out, self._header, api=self._api, version=self._version)
        return bytes(out) + joined(encode(self.message, self._version))


def has_addresses(api: Api) -> bool:
    """Return whether responses of an API can list addresses."""
    return api.name in _LISTED


def _of_none(_: Response) -> Iterable[HasAddress]:
    return ()


def _of_metadata(response: Response) -> Iterable[HasAddress]:
    assert isinstance(response, MetadataResponse)
    return response.brokers


def _of_cluster(response: Response) -> Iterable[HasAddress]:
    assert isinstance(response, DescribeClusterResponse)
    return response.brokers


def _of_coordinators(response: Response) -> Iterable[HasAddress]:
    assert isinstance(response, FindCoordinatorResponse)
    return (response, *response.coordinators)


def _of_leaders(response: Response) -> Iterable[HasAddress]:
    assert isinstance(response, ProduceResponse | FetchResponse)
    return response.node_endpoints


_LISTED: Final[Mapping[str, Callable[[Response], Iterable[HasAddress]]]] = MappingProxyType(
    {
        "Metadata": _of_metadata,
        "DescribeCluster": _of_cluster,
        "FindCoordinator": _of_coordinators,
        "Produce": _of_leaders,
        "Fetch": _of_leaders,
    }
)
