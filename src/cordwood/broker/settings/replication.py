"""Settings of replication and leadership (Kafka: `ReplicationConfigs`)."""

from typing import Final

from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

#: Kafka's class for fetches from followers in the rack of the consumer (KIP-392).
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

REPLICATION: Final = SettingTable(
    (
        Setting(
            name="replica.lag.time.max.ms",
            type=SettingType.LONG,
            default=30_000,
            doc=(
                "The time that a follower may lag behind the log end before it leaves the "
                "in-sync replicas."
            ),
        ),
        Setting(
            name="replica.fetch.max.bytes",
            type=SettingType.INT,
            default=1_048_576,
            doc="The bytes that a follower fetches from one partition; one batch may exceed them.",
            at_least=0,
        ),
        Setting(
            name="replica.fetch.response.max.bytes",
            type=SettingType.INT,
            default=10_485_760,
            doc="The bytes that a follower fetches in one request; one batch may exceed them.",
            at_least=0,
        ),
        Setting(
            name="replica.fetch.min.bytes",
            type=SettingType.INT,
            default=1,
            doc="The bytes that complete a follower's fetch at once.",
        ),
        Setting(
            name="replica.fetch.wait.max.ms",
            type=SettingType.INT,
            default=500,
            doc="The longest wait of a follower's fetch; keep it below replica.lag.time.max.ms.",
        ),
        Setting(
            name="replica.fetch.backoff.ms",
            type=SettingType.INT,
            default=1000,
            doc="The wait of a follower after a failed fetch.",
            at_least=0,
        ),
        Setting(
            name="replica.socket.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="The time that a follower waits for a response.",
        ),
        Setting(
            name="replica.socket.receive.buffer.bytes",
            type=SettingType.INT,
            default=65_536,
            doc="The size of a follower's receive buffer.",
        ),
        Setting(
            name="num.replica.fetchers",
            type=SettingType.INT,
            default=1,
            doc="The number of connections from a follower to each leader.",
            scope=SettingScope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="controller.socket.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="The time that the controller waits for a broker's response.",
        ),
        Setting(
            name="request.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="The time that a broker waits for another broker's response.",
        ),
        Setting(
            name="controlled.shutdown.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a broker moves leadership to other brokers before it shuts down.",
        ),
        Setting(
            name="auto.leader.rebalance.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether leadership moves back to preferred leaders.",
        ),
        Setting(
            name="leader.imbalance.check.interval.seconds",
            type=SettingType.LONG,
            default=300,
            doc="The interval between checks for leaders that are not preferred.",
            at_least=1,
        ),
        Setting(
            name="replica.selector.class",
            type=SettingType.STRING,
            default=None,
            doc=(
                "The choice of the replica that a consumer reads: the class that prefers the "
                "consumer's rack, or not set for the leader."
            ),
            one_of=(RACK_AWARE_SELECTOR,),
        ),
        Setting(
            name="ssl.endpoint.identification.algorithm",
            type=SettingType.STRING,
            default="https",
            doc=(
                "Whether a broker's host name must be in its certificate: https, or empty for "
                "no check."
            ),
            scope=SettingScope.BROKER,
        ),
    )
)
