"""Facts of the cluster as a whole: its nodes, its id, and the last block of producer ids.

Kafka: `createTopLevelPaths`, `createOrGetClusterId`, `ZkProducerIdManager`.
"""

from collections.abc import Callable

from cordwood.cluster.zookeeper.client.zookeeper_client import SetDataOp, ZooKeeperClient
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
)
from cordwood.cluster.zookeeper.store.guarded_writes import GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.znodes.cluster_paths import CLUSTER_ID, PERSISTENT
from cordwood.cluster.zookeeper.znodes.event_znodes import decode_cluster_id, encode_cluster_id
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import SettingError, UnknownServerError
from cordwood.core.producer_id_block import (
    BLOCK_PATH,
    BLOCK_SIZE,
    format_block,
    next_producer_id,
)

_ROOT = "/"


class ClusterFacts:
    """Facts that exist once in a cluster."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)

    async def create_persistent_nodes(self) -> None:
        """Create the nodes that every broker expects, and the root of the cluster.

        SettingError if the parent of the root does not exist.
        """
        try:
            await self._requests.create_missing([_ROOT])
        except NoNodeError as error:
            raise SettingError(
                "zookeeper.connect: the parent of its path does not exist in ZooKeeper",
                key="zookeeper.connect",
                remedy="create it, or use a path with one name",
            ) from error
        await self._requests.create_missing(PERSISTENT)

    async def cluster_id(self, draw: Callable[[], str]) -> str:
        """Return the id of the cluster; a new cluster gets a drawn one."""
        while True:
            node = await self._requests.get(CLUSTER_ID)
            if node is not None:
                return decode_cluster_id(node.data)
            data = encode_cluster_id(draw())
            try:
                await self._requests.create(CLUSTER_ID, data)
            except NodeExistsError:
                continue

    async def claim_producer_ids(self, broker_id: int) -> range:
        """Store that a broker has the next block of producer ids, and return it."""
        writes = GuardedWrites(self._client, None)
        while True:
            node = await self._requests.get(BLOCK_PATH)
            if node is None:
                await self._requests.create_missing([BLOCK_PATH])
                continue
            # Kafka creates the node without a block.
            first = next_producer_id(node.data or None)
            if first > INT64_MAX - BLOCK_SIZE:
                raise UnknownServerError("all producer ids have been used")
            block = range(first, first + BLOCK_SIZE)
            (result,) = await writes.apply(
                [SetDataOp(BLOCK_PATH, format_block(block, broker_id), node.stat.version)]
            )
            if result.error is None:
                return block
            if not isinstance(result.error, BadVersionError):
                raise result.error
