"""Tests of the peers of a node without a cluster."""

import pytest

from cordwood.broker.peers.peer_channels import no_peers
from cordwood.core.errors import BrokerNotAvailableError


def test_node_without_a_cluster_has_no_channels() -> None:
    peers = no_peers("txn-marker-sender")

    with pytest.raises(BrokerNotAvailableError, match="no channel to broker 2"):
        peers.channel(2)

    peers.close()
