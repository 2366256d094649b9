"""Who leads: the same bytes wherever it is told."""

from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.schema import Data
from tests.unit.protocol.messages.golden import assert_wire


class Told(Data, versions=(0, 0), flexible_since=0):
    current_leader: LeaderIdAndEpoch
    node_endpoints: list[NodeEndpoint]


def test_leader_and_its_address_are_kafkas() -> None:
    message = Told(
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2),
        node_endpoints=[NodeEndpoint(node_id=1, host="h", port=9092)],
    )
    wire = "00000001 00000002 00 02 00000001 0268 00002384 00 00 00"

    assert_wire(message, wire, version=0)
