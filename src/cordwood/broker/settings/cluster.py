"""Settings of a cluster with ZooKeeper, which Kafka 4 does not have (Kafka 3.9: `ZkConfigs`,
`ReplicationConfigs`, `ServerConfigs`).

They are described only if they are given, so that a broker without a cluster is described as by
Kafka 4.3.
"""

from typing import Final

from cordwood.core.settings import Setting, SettingTable, SettingType

CLUSTER: Final = SettingTable(
    (
        Setting(
            name="zookeeper.connect",
            type=SettingType.STRING,
            default=None,
            doc=(
                "The ZooKeeper servers of the cluster as host:port,host:port/path; the path is "
                "the root of the cluster's nodes."
            ),
            is_internal=True,
        ),
        Setting(
            name="zookeeper.session.timeout.ms",
            type=SettingType.INT,
            default=18_000,
            doc=(
                "The time without a connection to ZooKeeper after which the broker counts as dead."
            ),
            is_internal=True,
        ),
        Setting(
            name="zookeeper.connection.timeout.ms",
            type=SettingType.INT,
            default=None,
            doc=(
                "The time in which a broker that starts has to reach ZooKeeper; "
                "zookeeper.session.timeout.ms if not set."
            ),
            is_internal=True,
        ),
        Setting(
            name="zookeeper.max.in.flight.requests",
            type=SettingType.INT,
            default=10,
            doc="The highest number of requests to ZooKeeper without a response.",
            at_least=1,
            is_internal=True,
        ),
        Setting(
            name="broker.id.generation.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a broker without an id gets one from ZooKeeper.",
            is_internal=True,
        ),
        Setting(
            name="reserved.broker.max.id",
            type=SettingType.INT,
            default=1000,
            doc="The highest id that can be given; ids from ZooKeeper are higher.",
            at_least=0,
            is_internal=True,
        ),
        Setting(
            name="controlled.shutdown.max.retries",
            type=SettingType.INT,
            default=3,
            doc="The number of retries of a request to move leadership before a shutdown.",
            is_internal=True,
        ),
        Setting(
            name="controlled.shutdown.retry.backoff.ms",
            type=SettingType.LONG,
            default=5000,
            doc="The wait before such a retry.",
            is_internal=True,
        ),
        Setting(
            name="leader.imbalance.per.broker.percentage",
            type=SettingType.INT,
            default=10,
            doc=(
                "The percentage of a broker's preferred partitions with another leader, above "
                "which their leadership moves back."
            ),
            is_internal=True,
        ),
    )
)
