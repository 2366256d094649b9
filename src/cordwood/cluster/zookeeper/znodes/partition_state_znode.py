"""Node of a partition's state: leader and in-sync replicas (Kafka: `TopicPartitionStateZNode`).

    {"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}
    "leader_recovery_state":1     only while the leader has not recovered (KIP-704)

The version of the node is the partition epoch. A broker without a cluster has the same node with
the log directory of its replica (`core.partition_state`).
"""

from typing import Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.zookeeper.znodes.znode_json import (
    decode_json,
    encode_json,
    integer,
    integers,
)
from cordwood.core.metadata_paths import partition_state_path
from cordwood.core.types import TopicPartition

_VERSION: Final = 1
_RECOVERING: Final = 1


def encode_leadership(leadership: Leadership) -> bytes:
    """Return the content of a state's node."""
    content: dict[str, object] = {
        "controller_epoch": leadership.controller_epoch,
        "leader": leadership.leader,
        "version": _VERSION,
        "leader_epoch": leadership.leader_epoch,
        "isr": [*leadership.isr],
    }
    if leadership.is_recovering:
        content["leader_recovery_state"] = _RECOVERING
    return encode_json(content)


def decode_leadership(partition: TopicPartition, data: bytes, *, version: int) -> Leadership:
    """Return the leadership in a node with this version; DamagedFileError."""
    return decode_json(
        data,
        lambda content: Leadership(
            integer(content, "leader"),
            integer(content, "leader_epoch"),
            integers(content["isr"]),
            integer(content, "leader_recovery_state", default=0) == _RECOVERING,
            version,
            integer(content, "controller_epoch"),
        ),
        path=partition_state_path(partition.topic, partition.partition),
        expected='{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1]}',
    )
