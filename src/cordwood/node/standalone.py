"""Metadata in the log directories of one broker: a cluster of one, without a controller."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cordwood.broker.config.stored_configs import initial_texts, load_configs
from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.partition_states import assignment, directory_ids
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_adoption import open_metadata
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage, ClusterImage
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.producer_id_manager import ProducerIdManager, block_allocator
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.process.periodic_task import PeriodicTask
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.broker.topics.config_changes import ConfigChanges
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.core.settings import DEFAULT_SOURCE, SettingSource
from cordwood.core.types import TopicPartition
from cordwood.node.metadata_source import (
    CONFIG_CHECKS,
    MetadataServices,
    NodeFoundation,
    NodeIdentity,
)
from cordwood.observability.logs import fields
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.log_startup import load_logs

_log = logging.getLogger(__name__)

#: The interval between attempts to create logs that could not be created.
RETRY_MS: Final = 30_000


class StandaloneMetadata:
    """The MetadataSource of a broker without a cluster."""

    def __init__(self, given: Sequence[SettingSource]) -> None:
        self._given = given
        self._metadata: MetadataCache

    async def identify(self) -> NodeIdentity:
        """Return the given node id; the directories decide about the rest."""
        node_id = BROKER_SETTINGS.resolve(self._given)["node.id"]
        is_given = node_id.source != DEFAULT_SOURCE and isinstance(node_id.value, int)
        return NodeIdentity(None, int(str(node_id.value)) if is_given else None)

    async def open(self, foundation: NodeFoundation) -> MetadataServices:
        """Read the metadata of the directories, load the logs, and serve the topics."""
        configs, resources, runtime, metrics, cluster_id, opened, _ = foundation
        manager, random = resources.manager, runtime.ports.random
        on_event = manager.options.on_event
        store, adopted = open_metadata(
            manager.directories,
            node_id=configs.node_id,
            random=random,
            initial_texts=initial_texts(configs),
            on_event=on_event,
        )
        opened.callback(store.close)
        if adopted is not None:
            _log.info("directories adopted", extra=fields(what=str(adopted)))
        load_configs(store, configs, on_event=on_event)
        load_logs(manager)
        partitions = HostedPartitions(resources, metrics=metrics)
        hosting = TopicHosting(manager, partitions, on_event)
        empty = ClusterImage(cluster_id=cluster_id, controller_id=configs.node_id, brokers={})
        self._metadata = metadata = MetadataCache(reconcile(store, hosting, image=empty))
        writer = MetadataWriter(store, runtime.ports.worker)
        topics = TopicManager(
            writer, configs=configs, metadata=metadata, hosting=hosting, random=random
        )
        opened.push_async_callback(topics.stop)
        retry = PeriodicTask(topics.retry)
        opened.push_async_callback(retry.stop)
        opened.callback(runtime.ports.scheduler.every(RETRY_MS, retry.begin).cancel)
        return MetadataServices(
            metadata,
            partitions,
            topics,
            ConfigChanges(writer, configs, metadata, checks=CONFIG_CHECKS),
            ProducerIdManager(block_allocator(writer, configs.node_id)),
            store_directory=partial(_store_directory, writer, manager),
        )

    async def join(self, me: BrokerImage) -> None:
        """Publish an image with this broker."""
        image = self._metadata.image
        self._metadata.publish(replace(image, brokers={me.node_id: me}, epoch=image.epoch + 1))

    async def leave(self) -> None:
        """There is no other broker that could lead."""


async def _store_directory(
    writer: MetadataWriter, manager: LogManager, partition: TopicPartition
) -> None:
    """Store the log directory of a replica that has moved."""
    directories = directory_ids(manager, [partition])
    async with writer.change() as change:
        await change.store(lambda store: assignment(store, directories))
