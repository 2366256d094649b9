"""Paths of the cluster's nodes (Kafka: `ZkData`); those of topics are in `core.metadata_paths`.

/brokers/ids/<id>                                ephemeral
/brokers/seqid                                   its version generates broker ids
/controller                                      ephemeral
/controller_epoch
/cluster/id
/admin/delete_topics/<topic>
/admin/reassign_partitions
/admin/preferred_replica_election
/isr_change_notification/isr_change_<n>          sequential
/log_dir_event_notification/log_dir_event_<n>    sequential
/config/changes/config_change_<n>                sequential
/config/<type>/<name>
"""

from typing import Final

from cordwood.core.metadata_paths import TOPICS, encode_name
from cordwood.core.producer_id_block import BLOCK_PATH

BROKER_IDS: Final = "/brokers/ids"
BROKER_SEQUENCE_ID: Final = "/brokers/seqid"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
CLUSTER: Final = "/cluster"
CLUSTER_ID: Final = "/cluster/id"
ADMIN: Final = "/admin"
DELETE_TOPICS: Final = "/admin/delete_topics"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION: Final = "/admin/preferred_replica_election"
ISR_CHANGES: Final = "/isr_change_notification"
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
CONFIG_CHANGES: Final = "/config/changes"

ISR_CHANGE_PREFIX: Final = "isr_change_"
LOG_DIR_EVENT_PREFIX: Final = "log_dir_event_"
CONFIG_CHANGE_PREFIX: Final = "config_change_"

#: Types of the entities that have configurations (Kafka: `ConfigType`).
CONFIG_TYPES: Final = ("topics", "clients", "users", "brokers", "ips")
#: Name of the entity whose configuration is the default for all others of its type.
DEFAULT_ENTITY: Final = "<default>"

#: Nodes that every broker creates at its start, parents first (Kafka: `PersistentZkPaths`).
PERSISTENT: Final = (
    "/brokers",
    BROKER_IDS,
    TOPICS,
    BROKER_SEQUENCE_ID,
    "/config",
    CONFIG_CHANGES,
    *(f"/config/{each}" for each in CONFIG_TYPES),
    ADMIN,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    BLOCK_PATH,
    CLUSTER,
)


def broker_path(broker_id: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker_id}"


def delete_topic_path(topic: str) -> str:
    """Return the path of the request to delete a topic."""
    return f"{DELETE_TOPICS}/{topic}"


def entity_path(kind: str, name: str) -> str:
    """Return the path of an entity below `/config`; an empty name is the default entity."""
    return f"{kind}/{encode_name(name) if name else DEFAULT_ENTITY}"


def sequence_number(name: str) -> int:
    """Return the number at the end of the name of a sequential node."""
    return int(name.rpartition("_")[2])
