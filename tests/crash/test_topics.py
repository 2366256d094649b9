"""A crash at any write of an administered broker keeps the acknowledged topic changes."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.log_manager_settings import manager_settings
from cordwood.broker.config.stored_configs import load_configs
from cordwood.broker.metadata.metadata_adoption import open_metadata
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.topics.log_reconciliation import reconcile
from cordwood.broker.topics.topic_hosting import TopicHosting
from cordwood.broker.topics.topic_manager import NewPartitions, TopicManager
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.ports import LoopPorts
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions
from cordwood.storage.manager.log_startup import load_logs
from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.broker.image_samples import cluster

SOAK = bool(os.environ.get("CORDWOOD_SOAK"))
SAMPLES, EVERY = (8, 1) if SOAK else (2, 4)


class Administered:
    """A broker on two directories, as it starts."""

    def __init__(self, files: MemoryFiles) -> None:
        self.events: list[str] = []
        random, on_event = SeededRandom(1), self.events.append
        owner = DirectoryOwner(cluster_id="c", node_id=1, random=random, on_event=on_event)
        directories = open_directories(files, ["/a", "/b"], owner=owner)
        store, _ = open_metadata(directories, node_id=1, random=random)
        self.configs = BrokerConfigs(1, [])
        load_configs(store, self.configs, on_event=on_event)
        ports = _ports(files, random)
        table = OpenFileCache(files, 20)
        options = ManagerOptions(open_files=table, call_soon=lambda call: call(), on_event=on_event)
        self.manager = LogManager(directories, ports, manager_settings(self.configs), options)
        load_logs(self.manager)
        flusher = LogFlusher(self.manager)
        self.partitions = HostedPartitions(self.manager, flusher, inspector=PlainInspector)
        hosting = TopicHosting(self.manager, self.partitions, on_event)
        self.metadata = MetadataCache(reconcile(store, hosting, image=cluster()))
        self.topics = self._topic_manager(MetadataWriter(store, ports.worker), hosting)

    def _topic_manager(self, writer: MetadataWriter, hosting: TopicHosting) -> TopicManager:
        return TopicManager(
            writer,
            configs=self.configs,
            metadata=self.metadata,
            hosting=hosting,
            random=SeededRandom(2),
        )


def _ports(files: MemoryFiles, random: SeededRandom) -> LoopPorts:
    clock, worker = files.clock, InlineWorker()
    return LoopPorts(files=files, clock=clock, random=random, scheduler=clock, worker=worker)


Step = Callable[[TopicManager], object]


def _create(name: str, partitions: int) -> Step:
    new = NewTopic(name=name, partitions=partitions, configs=[("retention.ms", "5")])
    return lambda topics: asyncio.run(topics.create([new]))


def _grow(name: str, total: int) -> Step:
    return lambda topics: asyncio.run(topics.grow([NewPartitions(name, total)]))


def _delete(name: str) -> Step:
    return lambda topics: asyncio.run(topics.delete([TopicReference(name)]))


STEPS = (
    _create("a", 2),
    _create("b", 1),
    _grow("a", 3),
    _delete("b"),
    _create("b", 2),
    _delete("a"),
)

State = dict[str, TopicImage]


@dataclass
class Ledger:
    """The topics after each acknowledged step."""

    states: list[State] = field(default_factory=lambda: [State()])


def run(files: MemoryFiles, ledger: Ledger) -> None:
    try:
        broker = Administered(files)
        for step in STEPS:
            step(broker.topics)
            ledger.states.append(dict(broker.metadata.image.topics))
    except PowerLoss:
        pass
    finally:
        files.script.reset()


def check(files: MemoryFiles, ledger: Ledger, after: list[State]) -> Counter[str]:
    """Compare a restarted broker with the acknowledged changes; count its repairs."""
    broker = Administered(files)
    found = dict(broker.metadata.image.topics)
    shapes = {name: (topic.topic_id, len(topic.partitions)) for name, topic in found.items()}
    allowed = [
        {name: (topic.topic_id, len(topic.partitions)) for name, topic in state.items()}
        for state in (ledger.states[-1], *after)
    ]
    assert shapes in allowed, f"{shapes} is not among {allowed}"
    for name, topic in found.items():
        assert broker.configs.config_for(name).retention_ms == 5
        for index in range(len(topic.partitions)):
            partition = TopicPartition(TopicName(name), PartitionId(index))
            assert broker.partitions.get(name, index).log.partition == partition
            assert broker.manager.topic_id(partition) == topic.topic_id
            assert topic.partitions[index].leader == 1
    known = {name for topic in found.values() for name in topic.names()}
    assert set(broker.manager.logs) == known
    return Counter(
        kind for kind in ("begin empty", "-stray") for event in broker.events if kind in event
    )


def survivors(count: int, chance: Random) -> Iterator[tuple[int, ...]]:
    """Yield subsets of the unsynced operations that survive: none, all, and some."""
    yield ()
    yield tuple(range(count))
    for _ in range(SAMPLES if count > 1 else 0):
        yield tuple(index for index in range(count) if chance.random() < 0.5)


def test_crash_keeps_acknowledged_topic_changes() -> None:
    whole, chance, seen = Ledger(), Random(1), Counter[str]()
    files = MemoryFiles()
    run(files, whole)

    for point in range(0, files.script.write_points + 1, EVERY):
        files, ledger = MemoryFiles(), Ledger()
        files.script.stop_after(point)
        run(files, ledger)
        done = len(ledger.states)
        for keep in survivors(len(files.pending()), chance):
            seen += check(files.after_crash(keep), ledger, whole.states[done : done + 1])
            seen["crashes"] += 1

    assert min(seen[kind] for kind in ("begin empty", "-stray", "crashes")) > 0
