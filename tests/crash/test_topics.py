"""A crash at any write of an administered broker leaves topics as they were answered for."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from cordwood.broker.adoption import open_metadata
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.hosting import HostingTools
from cordwood.broker.image import TopicImage
from cordwood.broker.kept_configs import load_configs
from cordwood.broker.log_settings import manager_settings
from cordwood.broker.metadata import Metadata
from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.broker.partition import PartitionTools
from cordwood.broker.partitions import Partitions
from cordwood.broker.reconciling import reconcile
from cordwood.broker.topic_rules import NewTopic
from cordwood.broker.topic_selection import Said
from cordwood.broker.topics import MorePartitions, Topics, TopicTools
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.inspect import PlainInspector
from cordwood.storage.directories import Owner, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.flusher import Flusher
from cordwood.storage.manager import LogManager
from cordwood.storage.stock import ManagerTools
from cordwood.testing.faults import PowerLoss
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.testing.worker import InlineWorker
from tests.unit.broker.image_samples import cluster

SOAK = bool(os.environ.get("CORDWOOD_SOAK"))
SAMPLES, EVERY = (8, 1) if SOAK else (2, 4)


class Administered:
    """A broker on two directories, as it starts."""

    def __init__(self, files: MemoryFiles) -> None:
        self.events: list[str] = []
        random, on_event = SeededRandom(1), self.events.append
        owner = Owner(cluster_id="c", node_id=1, random=random, on_event=on_event)
        directories = open_directories(files, ["/a", "/b"], owner=owner)
        store, _ = open_metadata(directories, node_id=1, random=random)
        self.configs = BrokerConfigs(1, [])
        load_configs(store, self.configs, on_event=on_event)
        tools = ManagerTools(
            files=files,
            clock=files.clock,
            scheduler=files.clock,
            worker=InlineWorker(),
            random=random,
            table=FileTable(files, 20),
            call_soon=lambda call: call(),
            on_event=on_event,
        )
        self.manager = LogManager(directories, tools, manager_settings(self.configs))
        self.manager.load()
        self.partitions = Partitions(_partition_tools(self.manager))
        hosting = HostingTools(self.manager, self.partitions, on_event)
        self.metadata = Metadata(reconcile(store, hosting, image=cluster()))
        writer = MetadataWriter(store, tools.worker)
        self.topics = Topics(TopicTools(writer, self.configs, self.metadata, hosting, random))


def _partition_tools(manager: LogManager) -> PartitionTools:
    return PartitionTools(manager, Flusher(manager), PlainInspector)


Step = Callable[[Topics], object]


def _create(name: str, partitions: int) -> Step:
    new = NewTopic(name=name, partitions=partitions, configs=[("retention.ms", "5")])
    return lambda topics: asyncio.run(topics.create([new]))


def _grow(name: str, total: int) -> Step:
    return lambda topics: asyncio.run(topics.grow([MorePartitions(name, total)]))


def _delete(name: str) -> Step:
    return lambda topics: asyncio.run(topics.delete([Said(name)]))


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
    """What there was after each step that was answered for."""

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
    """Hold a broker that starts again to what was answered for; return what it had to do."""
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
    """Yield which of the operations survive that were not durable: none, all, and some."""
    yield ()
    yield tuple(range(count))
    for _ in range(SAMPLES if count > 1 else 0):
        yield tuple(index for index in range(count) if chance.random() < 0.5)


def test_crash_leaves_topics_as_they_were_answered_for() -> None:
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
