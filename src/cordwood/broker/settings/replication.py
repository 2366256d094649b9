"""Replicas: how they follow, when they count as in sync, who leads."""

from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

REPLICATION: Final = SettingTable(
    (
        Setting(
            name="replica.lag.time.max.ms",
            type=SettingType.LONG,
            default=30_000,
            doc="How long a follower may be behind the leader's end before it is out of sync.",
        ),
        Setting(
            name="replica.fetch.max.bytes",
            type=SettingType.INT,
            default=1_048_576,
            doc="How many bytes a follower asks for from one partition, one batch aside.",
            at_least=0,
        ),
        Setting(
            name="replica.fetch.response.max.bytes",
            type=SettingType.INT,
            default=10_485_760,
            doc="How many bytes a follower asks for at a time, one batch aside.",
            at_least=0,
        ),
        Setting(
            name="replica.fetch.min.bytes",
            type=SettingType.INT,
            default=1,
            doc="With how few bytes a follower is answered at once.",
        ),
        Setting(
            name="replica.fetch.wait.max.ms",
            type=SettingType.INT,
            default=500,
            doc=(
                "How long a follower's fetch may wait for that; keep it below "
                "replica.lag.time.max.ms."
            ),
        ),
        Setting(
            name="replica.fetch.backoff.ms",
            type=SettingType.INT,
            default=1000,
            doc="How long a follower waits after a fetch that failed.",
            at_least=0,
        ),
        Setting(
            name="replica.socket.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="How long a follower waits for an answer.",
        ),
        Setting(
            name="replica.socket.receive.buffer.bytes",
            type=SettingType.INT,
            default=65_536,
            doc="The size of a follower's buffer for receiving.",
        ),
        Setting(
            name="num.replica.fetchers",
            type=SettingType.INT,
            default=1,
            doc="How many connections a follower has to each leader.",
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="controller.socket.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="How long the controller waits for a broker's answer.",
        ),
        Setting(
            name="request.timeout.ms",
            type=SettingType.INT,
            default=30_000,
            doc="How long a broker waits for another one's answer.",
        ),
        Setting(
            name="controlled.shutdown.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a broker that stops hands its partitions over first.",
        ),
        Setting(
            name="auto.leader.rebalance.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether partitions go back to the brokers that are meant to lead them.",
        ),
        Setting(
            name="leader.imbalance.check.interval.seconds",
            type=SettingType.LONG,
            default=300,
            doc="How often it is looked for partitions to go back.",
            at_least=1,
        ),
        Setting(
            name="ssl.endpoint.identification.algorithm",
            type=SettingType.STRING,
            default="https",
            doc="Whether a broker's name has to be in its certificate: https, or empty for no.",
            scope=Scope.BROKER,
        ),
    )
)
