"""Topic ids held against each other: the partitions of a topic have one.

Brokers know a topic by its id. A directory with another one is what is left of a deleted topic of
the same name, or was put there: Kafka and we set it aside as -stray when we start, or refuse it.
None of that is at hand before a start, so several ids in a topic are damage.

A topic may be deleted and made anew meanwhile, so only what is found twice is believed.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.core.errors import DamagedFileError
from cordwood.core.ids import Uuid, format_uuid
from cordwood.core.ports import Files
from cordwood.storage.partition_metadata import read_partition_metadata
from cordwood.storage.reader_place import partition_of, partition_paths
from cordwood.workbench.findings import Finding, damage, in_both, some_of

_REMEDY: Final = (
    "give all of them the id that the cluster knows the topic by, or move away what is not the "
    "topic's: a broker serves only the partitions with its id"
)


def check_topic_ids(files: Files, path: str) -> tuple[Finding, ...]:
    """Return a finding for each topic of a log directory whose partitions have several ids."""
    found = tuple(_look(files, path))
    return in_both(found, _look(files, path)) if found else ()


def _look(files: Files, path: str) -> Iterator[Finding]:
    topics: dict[str, dict[Uuid, list[str]]] = {}
    for each in partition_paths(files, path):
        partition, topic_id = partition_of(each), _topic_id(files, each)
        if partition is not None and topic_id is not None:
            having = topics.setdefault(partition.topic, {})
            having.setdefault(topic_id, []).append(str(partition))
    for topic, having in topics.items():
        if len(having) > 1:
            yield damage(
                path,
                f"partitions of topic {topic} have {len(having)} topic ids",
                remedy=_REMEDY,
                expected="one id",
                found="; ".join(f"{format_uuid(id_)} of {some_of(having[id_])}" for id_ in having),
            )


def _topic_id(files: Files, path: str) -> Uuid | None:
    try:
        return read_partition_metadata(files, path)
    except DamagedFileError:  # which is a finding of the partition
        return None
