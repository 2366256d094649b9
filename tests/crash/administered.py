"""A broker without listeners: log directories, metadata, topics and the partitions it leads."""

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.log_manager_settings import manager_settings
from cordwood.broker.config.stored_configs import load_configs
from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_adoption import open_metadata
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.core.ports import LoopPorts
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions
from cordwood.storage.manager.log_startup import load_logs
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.broker_samples import resources
from tests.unit.broker.image_samples import cluster


class Administered:
    """A broker on two directories, as it starts."""

    def __init__(self, files: MemoryFiles, *, seed: int = 1) -> None:
        self.events: list[str] = []
        self._seed = seed
        random, on_event = SeededRandom(seed), self.events.append
        owner = DirectoryOwner(cluster_id="c", node_id=1, random=random, on_event=on_event)
        directories = open_directories(files, ["/a", "/b"], owner=owner)
        self.store, _ = open_metadata(directories, node_id=1, random=random, on_event=on_event)
        self.configs = BrokerConfigs(1, [])
        load_configs(self.store, self.configs, on_event=on_event)
        ports = _ports(files, random)
        table = OpenFileCache(files, 20)
        options = ManagerOptions(open_files=table, call_soon=lambda call: call(), on_event=on_event)
        self.manager = LogManager(directories, ports, manager_settings(self.configs), options)
        load_logs(self.manager)
        self.partitions = HostedPartitions(resources(self.manager))
        hosting = TopicHosting(self.manager, self.partitions, on_event)
        self.metadata = MetadataCache(reconcile(self.store, hosting, image=cluster()))
        self.topics = self._topic_manager(MetadataWriter(self.store, ports.worker), hosting)

    def stop(self) -> None:
        """Stop in order."""
        self.store.close()
        self.manager.close()

    def _topic_manager(self, writer: MetadataWriter, hosting: TopicHosting) -> TopicManager:
        return TopicManager(
            writer,
            configs=self.configs,
            metadata=self.metadata,
            hosting=hosting,
            random=SeededRandom(self._seed + 1),
        )


def _ports(files: MemoryFiles, random: SeededRandom) -> LoopPorts:
    clock, worker = files.clock, InlineWorker()
    return LoopPorts(files=files, clock=clock, random=random, scheduler=clock, worker=worker)
