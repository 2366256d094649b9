"""A crash at any write of an administered broker keeps the acknowledged topic changes."""

import asyncio
import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from cordwood.broker.hosting.partition_states import directory_id_of, read_state
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.file_faults import FileFault, PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from tests.crash.administered import Administered

SOAK = bool(os.environ.get("CORDWOOD_SOAK"))
SAMPLES, EVERY = (8, 1) if SOAK else (2, 4)


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
    _create("full", 2),
)

#: The first log of this topic cannot be created where it is placed.
FULL = FileFault(on="create", path="/*/full-0/*", code=errno.ENOSPC)

State = dict[str, TopicImage]


@dataclass
class Ledger:
    """The topics after each acknowledged step."""

    states: list[State] = field(default_factory=lambda: [State()])


def run(files: MemoryFiles, ledger: Ledger) -> None:
    try:
        broker = Administered(files)
        files.script.add(FULL)
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
            state = read_state(broker.store, partition)
            assert state is not None
            assert state.directory == directory_id_of(
                broker.manager, broker.manager.logs[partition]
            )
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
