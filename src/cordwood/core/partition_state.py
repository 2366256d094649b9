"""State of a partition: its leadership, and the log directory of its replica here.

Kafka: `TopicPartitionStateZNode`, with the directory id of KIP-858.

    /brokers/topics/<topic>/partitions/<number>/state
        {"version":1,"leader":1,"leader_epoch":3,"controller_epoch":0,"isr":[1],"directory":"..."}

The node's version is the partition epoch. The leader epoch of a partition never falls and is stored
before it is published, so that no (offset, leader epoch) ever has two contents. A state without a
directory belongs to a replica whose log has not been created yet.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.metadata_paths import (
    partition_path,
    partition_state_path,
    partitions_path,
)
from cordwood.core.uuids import Uuid, format_uuid, parse_uuid
from cordwood.core.znodes import CreateZNode

_VERSION: Final = 1
#: A broker without a controller is its own controller, which is never replaced.
_CONTROLLER_EPOCH: Final = 0


class PartitionState(NamedTuple):
    """Leader, leader epoch and in-sync replicas of a partition; `directory` may be unassigned."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    directory: Uuid | None = None


def encode_state(state: PartitionState) -> bytes:
    """Return the data of a state's node."""
    content: dict[str, object] = {
        "version": _VERSION,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "controller_epoch": _CONTROLLER_EPOCH,
        "isr": [*state.isr],
    }
    if state.directory is not None:
        content["directory"] = format_uuid(state.directory)
    return json.dumps(content, separators=(",", ":")).encode()


def decode_state(data: bytes, *, path: str) -> PartitionState:
    """Return the state of a node's data; DamagedFileError, which names `path`."""
    try:
        content = json.loads(data)
        directory = content.get("directory")
        return PartitionState(
            int(content["leader"]),
            int(content["leader_epoch"]),
            tuple(int(each) for each in content["isr"]),
            None if directory is None else parse_uuid(directory),
        )
    except (ValueError, TypeError, KeyError, AttributeError, BytesError) as error:
        raise DamagedFileError(
            "not the state of a partition",
            path=path,
            remedy="restore the metadata; without the leader epoch, clients may read other records",
            expected='{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":0,"isr":[1]}',
            found=repr(data[:60]),
        ) from error


def state_nodes(
    topic: str, states: Sequence[PartitionState], *, first: int = 0
) -> list[CreateZNode]:
    """Return the nodes of a topic's partitions from `first` on; from 0 with the node above them."""
    nodes = [] if first else [CreateZNode(partitions_path(topic))]
    for number, state in enumerate(states, first):
        nodes.append(CreateZNode(partition_path(topic, number)))
        nodes.append(CreateZNode(partition_state_path(topic, number), encode_state(state)))
    return nodes
