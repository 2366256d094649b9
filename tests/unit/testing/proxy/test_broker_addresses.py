"""Responses list the proxy in place of the brokers, and are otherwise unchanged."""

import asyncio

import pytest

from cordwood.core.address import Address
from cordwood.protocol.apis import APIS, Api
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.header import ResponseHeader, append_response_header
from cordwood.protocol.messages.current_leader import NodeEndpoint
from cordwood.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from cordwood.protocol.messages.fetch import FetchResponse
from cordwood.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from cordwood.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from cordwood.protocol.messages.produce import ProduceResponse
from cordwood.protocol.schema import Response
from cordwood.testing.proxy.broker_addresses import ResponseFrame

APIS_BY_NAME = {api.name: api for api in APIS.values()}
OURS = Address("127.0.0.1", 4)

METADATA = MetadataResponse(
    brokers=[MetadataResponseBroker(node_id=1, host="kafka1", port=9092)],
    cluster_id="c",
    controller_id=1,
    topics=[],
)
CLUSTER = DescribeClusterResponse(
    throttle_time_ms=0,
    error_code=0,
    error_message=None,
    cluster_id="c",
    controller_id=1,
    brokers=[DescribeClusterBroker(broker_id=1, host="kafka1", port=9092, rack=None)],
)
LEADERS = [NodeEndpoint(node_id=1, host="kafka1", port=9092)]


def coordinator(host: str, port: int) -> FindCoordinatorResponse:
    found = Coordinator(key="g", node_id=1, host=host, port=port, error_code=0, error_message=None)
    return FindCoordinatorResponse(coordinators=[found])


def frame_of(response: Response, api: Api, version: int) -> bytes:
    out = bytearray()
    append_response_header(out, ResponseHeader(correlation_id=7), api=api, version=version)
    return bytes(out) + joined(encode(response, version))


def readdressed(response: Response, api: Api, version: int) -> tuple[bytes, list[Address]]:
    """Return the frame with the proxy's address, and the brokers that were asked for."""
    asked: list[Address] = []

    async def address_of(broker: Address) -> Address:
        asked.append(broker)
        return OURS

    frame = ResponseFrame(frame_of(response, api, version), api, version)
    asyncio.run(frame.replace_addresses(address_of))
    return frame.encode(), asked


@pytest.mark.parametrize(
    ("name", "version", "response"),
    (
        ("Metadata", 1, METADATA),
        ("Metadata", 13, METADATA),
        ("DescribeCluster", 0, CLUSTER),
        ("FindCoordinator", 0, FindCoordinatorResponse(host="kafka1", port=9092)),
        ("FindCoordinator", 6, coordinator("kafka1", 9092)),
        ("Produce", 10, ProduceResponse(responses=[], node_endpoints=LEADERS)),
        ("Fetch", 16, FetchResponse(responses=[], node_endpoints=LEADERS)),
    ),
)
def test_addresses_of_brokers_are_replaced(name: str, version: int, response: Response) -> None:
    api = APIS_BY_NAME[name]

    changed, asked = readdressed(response, api, version)

    assert asked == [Address("kafka1", 9092)]
    again, listed = readdressed(ResponseFrame(changed, api, version).message, api, version)
    assert listed == [OURS]
    assert again == changed


def test_coordinator_that_is_not_available_has_no_address() -> None:
    changed, asked = readdressed(coordinator("", -1), APIS_BY_NAME["FindCoordinator"], 6)

    assert asked == []
    assert changed == frame_of(coordinator("", -1), APIS_BY_NAME["FindCoordinator"], 6)


def test_correlation_id_stays() -> None:
    changed, _ = readdressed(METADATA, APIS_BY_NAME["Metadata"], 13)

    assert changed[:4] == (7).to_bytes(4)
    assert decode(MetadataResponse, memoryview(changed)[5:], 13).cluster_id == "c"
