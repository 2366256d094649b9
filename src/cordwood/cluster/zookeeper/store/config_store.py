"""Configurations of topics, brokers, users, clients and addresses (Kafka: `AdminZkClient`).

A change is stored first, and then notified to all brokers. A broker that reads the notification
reads the configuration after it, so it has the change or a later one.
"""

from collections.abc import Mapping, Sequence

from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.cluster.zookeeper.store.change_notifications import ChangeNotifications
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.znodes.cluster_paths import DEFAULT_ENTITY, entity_path
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities, ConfigEntity
from cordwood.core.metadata_paths import decode_name, decode_texts, encode_texts


class ConfigStore:
    """Configurations as texts by key."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._requests = RetriedRequests(client)
        self._notifications = ChangeNotifications(client)

    async def read(self, *entities: ConfigEntity) -> dict[str, str]:
        """Return the configuration of an entity, or of a client of a user; empty without one."""
        return (await self.read_all([entities]))[0]

    async def read_all(self, all_entities: Sequence[ConfigEntities]) -> list[dict[str, str]]:
        """Return configurations in one pipeline, in this order; DamagedFileError."""
        paths = [_path(each) for each in all_entities]
        nodes = await self._requests.get_all(paths)
        return [
            decode_texts(node.data, path=path) if node is not None and node.data else {}
            for path, node in zip(paths, nodes, strict=True)
        ]

    async def entities(self, kind: str) -> list[ConfigEntity]:
        """Return the entities of a type that have a configuration."""
        names = await self._requests.children(f"/config/{kind}")
        return [
            ConfigEntity(kind, "" if name == DEFAULT_ENTITY else decode_name(name))
            for name in names
        ]

    async def write(self, entities: ConfigEntities, texts: Mapping[str, str]) -> None:
        """Replace the configuration of an entity, and notify all brokers."""
        parts = [part for each in entities for part in entity_path(*each).split("/")]
        parents = [f"/config/{'/'.join(parts[:end])}" for end in range(2, len(parts))]
        await self._requests.create_missing(parents)
        await self._requests.set_or_create(_path(entities), encode_texts(texts))
        await self._notifications.notify_config_change(entities)


def _path(entities: ConfigEntities) -> str:
    return "/config/" + "/".join(entity_path(each.kind, each.name) for each in entities)
