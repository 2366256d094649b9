"""Offsets of a stream, as the checkpoint stores them (spark-sql-kafka: `KafkaSourceOffset`).

    {"@cordwood": {"epochs": {"orders": {"0": 4}},   leader epochs of the ends
                   "ids": {"orders": "kX1…"},        topic ids
                   "start": {"orders": {"0": 20}}},  where the batch begins
     "orders": {"0": 23}}                            next offset to read

Topics and partitions have spark-sql-kafka's form, so the JSON of its checkpoints is an offset here.
The name `@cordwood` is not a legal topic name. The end of batch 0 has the whole `start`: Spark does
not store the initial offset of a Python source. A later end has the starts of the partitions that
do not begin at the end before it, because their logs were truncated (`log_truncations`). Every end
has the ids of the topics that have one, and the latest leader epochs of the partitions that have
one. An end without epochs is one of spark-sql-kafka, or of a log without leader epochs.

A partition that a stream discovers later begins at offset 0, so no end stores first offsets.

Spark compares offsets as JSON text. So keys are sorted, numbers are integers, and an offset without
new records is returned as the value that Spark passed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.errors import SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import NO_IDS
from cordwood.spark.source.source_options import Offsets

#: The key of everything that spark-sql-kafka does not store.
RESERVED: Final = "@cordwood"
_EPOCHS: Final = "epochs"
_IDS: Final = "ids"
_START: Final = "start"

#: A JSON object, as Spark passes it.
JsonObject: TypeAlias = Mapping[str, object]

#: Offsets, or leader epochs, of no partition.
NO_OFFSETS: Final[Offsets] = MappingProxyType({})

#: The answer to `initialOffset`, which Spark asks several times and does not store.
INITIAL: Final[JsonObject] = MappingProxyType({})


class StreamOffset(NamedTuple):
    """The next offset of each partition; `start` has those that a batch begins at elsewhere.

    No record before a position has a later leader epoch than the one of its partition.
    """

    positions: Offsets
    topic_ids: Mapping[str, str] = NO_IDS
    start: Offsets | None = None
    leader_epochs: Offsets = NO_OFFSETS

    @property
    def is_initial(self) -> bool:
        """Whether no batch has been planned yet."""
        return not self.positions and self.start is None


def parse_offset(given: object) -> StreamOffset:
    """Return an offset of our checkpoint or of spark-sql-kafka's; raise SettingError for another.

    A number as text is accepted, because JSON has no other type for the keys.
    """
    if not isinstance(given, Mapping):
        raise _not_an_offset(f"it is {given!r}")  # as of the format rate
    ours = given.get(RESERVED, {})
    if not isinstance(ours, Mapping):
        raise _not_an_offset(f"{RESERVED} is not an object")
    topics = {name: value for name, value in given.items() if name != RESERVED}
    ids, start = ours.get(_IDS, {}), ours.get(_START)
    if not isinstance(ids, Mapping):
        raise _not_an_offset("the topic ids are not an object")
    return StreamOffset(
        positions=_offsets(topics),
        topic_ids={str(topic): str(each) for topic, each in ids.items()},
        start=None if start is None else _offsets(start),
        leader_epochs=_offsets(ours.get(_EPOCHS, {})),
    )


def checkpoint_json(offset: StreamOffset) -> dict[str, object]:
    """Return the JSON object that the checkpoint stores for an offset, with sorted keys."""
    ours: dict[str, object] = {}
    if offset.leader_epochs:
        ours[_EPOCHS] = offsets_json(offset.leader_epochs)
    if offset.topic_ids:
        ours[_IDS] = dict(sorted(offset.topic_ids.items()))
    if offset.start is not None:
        ours[_START] = offsets_json(offset.start)
    found: dict[str, object] = {RESERVED: ours} if ours else {}
    return {**found, **offsets_json(offset.positions)}


def offsets_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return offsets in spark-sql-kafka's form, with sorted keys."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = int(offset)
    return found


def _offsets(topics: object) -> dict[TopicPartition, int]:
    if not isinstance(topics, Mapping):
        raise _not_an_offset("it is not an object of topics")
    found = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, Mapping):
            raise _not_an_offset(f"{topic} has no object of partitions")
        for partition, offset in partitions.items():
            number, value = _whole(topic, partition), _whole(topic, offset)
            found[TopicPartition(TopicName(str(topic)), PartitionId(number))] = value
    return found


def _whole(topic: object, value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise _not_an_offset(f"{topic} has the number {value!r}")
    return number


def _not_an_offset(problem: str) -> SettingError:
    return SettingError(
        f"checkpoint: not an offset of this source ({problem})",
        key="checkpointLocation",
        remedy="use the checkpoint of a query that read Kafka topics, or a new folder",
    )
