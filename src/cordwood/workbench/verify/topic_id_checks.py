"""Check of topic ids: all partitions of a topic must have the id that the metadata have for it.

Brokers identify a topic by its id. A directory with another id was left by a deleted topic of the
same name, or was copied there. A broker renames it to -stray at startup, or rejects it. The correct
id is unknown without the cluster's metadata; then several ids in a topic are damage.

A topic may be deleted and created again during the check, so only findings of two checks count.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cordwood.core.counts import first_names
from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.metadata.topic_ids import read_topic_ids
from cordwood.storage.reader.path_resolution import partition_of, partition_paths
from cordwood.workbench.verify.findings import (
    VerifyFinding,
    confirmed_findings,
    damage,
)

_REMEDY: Final = (
    "give all of them the topic id of the cluster, or move away the partitions of the other topic: "
    "a broker serves only partitions with the topic's id"
)


def check_topic_ids(files: Files, path: str) -> tuple[VerifyFinding, ...]:
    """Return a finding for each topic of a log directory whose partitions have wrong ids."""
    found = tuple(_check(files, path))
    return confirmed_findings(found, _check(files, path)) if found else ()


def _check(files: Files, path: str) -> Iterator[VerifyFinding]:
    topics: dict[str, dict[Uuid, list[str]]] = {}
    for each in partition_paths(files, path):
        partition, topic_id = partition_of(each), _topic_id(files, each)
        if partition is not None and topic_id is not None:
            having = topics.setdefault(partition.topic, {})
            having.setdefault(topic_id, []).append(str(partition))
    known = read_topic_ids(files, path) if topics else None
    for topic, having in topics.items():
        correct = None if known is None else known.id_of(topic)
        wrong = [] if correct is None else [each for each in having if each != correct]
        if known is not None and correct is not None and wrong:
            yield damage(
                path,
                f"partitions of topic {topic} have another topic id than {known.path}",
                remedy=_REMEDY,
                expected=format_uuid(correct),
                found=_ids_text(having, wrong),
            )
        elif len(having) > 1:
            yield damage(
                path,
                f"partitions of topic {topic} have {len(having)} topic ids",
                remedy=_REMEDY,
                expected="one id",
                found=_ids_text(having, having),
            )


def _ids_text(having: Mapping[Uuid, list[str]], ids: Iterable[Uuid]) -> str:
    return "; ".join(f"{format_uuid(each)} of {first_names(having[each])}" for each in ids)


def _topic_id(files: Files, path: str) -> Uuid | None:
    try:
        return read_partition_metadata(files, path)
    except DamagedFileError:  # reported as a finding of the partition
        return None
