"""Transactions: how long they may take, and the topic that holds their states."""

from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

TRANSACTIONS: Final = SettingTable(
    (
        Setting(
            name="transaction.max.timeout.ms",
            type=SettingType.INT,
            default=900_000,
            doc="The longest time that a producer may ask for a transaction.",
            at_least=1,
        ),
        Setting(
            name="transaction.abort.timed.out.transaction.cleanup.interval.ms",
            type=SettingType.INT,
            default=10_000,
            doc="How often transactions that took too long are looked for and aborted.",
            at_least=1,
        ),
        Setting(
            name="transactional.id.expiration.ms",
            type=SettingType.INT,
            default=604_800_000,
            doc="How long a transactional id that nobody uses is remembered.",
            at_least=1,
        ),
        Setting(
            name="transaction.remove.expired.transaction.cleanup.interval.ms",
            type=SettingType.INT,
            default=3_600_000,
            doc="How often forgotten transactional ids are looked for.",
            at_least=1,
        ),
        Setting(
            name="transaction.partition.verification.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a leader asks the coordinator before a transaction's first batch.",
            scope=Scope.CLUSTER,
        ),
        Setting(
            name="transaction.two.phase.commit.enable",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a transaction may be prepared and decided by somebody outside.",
        ),
        Setting(
            name="add.partitions.to.txn.retry.backoff.ms",
            type=SettingType.INT,
            default=20,
            doc="How long a leader waits before it asks the coordinator again.",
            at_least=1,
        ),
        Setting(
            name="add.partitions.to.txn.retry.backoff.max.ms",
            type=SettingType.INT,
            default=100,
            doc="For how long at most it asks again before the producer is told.",
            at_least=0,
        ),
        Setting(
            name="transaction.state.log.num.partitions",
            type=SettingType.INT,
            default=50,
            doc=(
                "How many partitions the topic of transactions is made with; keep it once it is "
                "made."
            ),
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.replication.factor",
            type=SettingType.SHORT,
            default=3,
            doc="How many replicas the topic of transactions is made with.",
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.min.isr",
            type=SettingType.INT,
            default=2,
            doc="How many of these have to be in sync for a state to be written.",
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.segment.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The segment size of the topic of transactions; small ones load fast.",
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.load.buffer.size",
            type=SettingType.INT,
            default=5_242_880,
            doc="How many bytes are read at a time when transactions are loaded.",
            at_least=1,
        ),
    )
)
