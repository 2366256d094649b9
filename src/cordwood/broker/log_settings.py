"""What a broker's settings say for those who look after its logs, and how a change reaches them."""

from typing import Final

from cordwood.broker.configs import BrokerConfigs
from cordwood.core.types import TopicName
from cordwood.storage.manager import LogManager
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.rounds import Rounds
from cordwood.storage.stock import ManagerSettings
from cordwood.storage.upkeep import UpkeepSettings

# Those of a manager's settings that change while a broker runs, besides what topics inherit.
_CHANGING: Final = (
    "num.recovery.threads.per.data.dir",
    "producer.id.expiration.ms",
    "transaction.partition.verification.enable",
)


def producer_settings(configs: BrokerConfigs) -> ProducerSettings:
    """Return what is remembered of producers."""
    return ProducerSettings(
        id_expiration_ms=configs.integer("producer.id.expiration.ms"),
        is_verifying_transactions=configs.boolean("transaction.partition.verification.enable"),
        max_transaction_timeout_ms=configs.integer("transaction.max.timeout.ms"),
    )


def manager_settings(configs: BrokerConfigs) -> ManagerSettings:
    """Return what the manager of logs needs; topics are asked for live."""
    return ManagerSettings(
        config_for=configs.config_for,
        producers=producer_settings(configs),
        delete_delay_ms=configs.integer("log.segment.delete.delay.ms"),
        threads_per_directory=configs.integer("num.recovery.threads.per.data.dir"),
    )


def upkeep_settings(configs: BrokerConfigs) -> UpkeepSettings:
    """Return the intervals of upkeep, which do not change while a broker runs."""
    return UpkeepSettings(
        first_turn_ms=configs.integer("log.initial.task.delay.ms"),
        retention_check_interval_ms=configs.integer("log.retention.check.interval.ms"),
        flush_check_interval_ms=configs.integer("log.flush.scheduler.interval.ms"),
        recovery_point_interval_ms=configs.integer("log.flush.offset.checkpoint.interval.ms"),
        log_start_interval_ms=configs.integer("log.flush.start.offset.checkpoint.interval.ms"),
        high_watermark_interval_ms=configs.integer("replica.high.watermark.checkpoint.interval.ms"),
        producer_check_interval_ms=configs.integer("producer.id.expiration.check.interval.ms"),
    )


def keep_current(manager: LogManager, configs: BrokerConfigs) -> Rounds:
    """Let every change of the configuration reach a manager's logs, until the rounds are stopped.

    A round asks what counts when it comes to a log, so a later change is never undone by an earlier
    one that is still on its way.
    """
    rounds = Rounds(manager)

    def reconfigure(topic: str | None) -> None:
        manager.adopt(manager_settings(configs))
        logs = None if topic is None else manager.logs_of(TopicName(topic))
        rounds.go(manager.renew, logs=logs)

    configs.on_change(_CHANGING, lambda: reconfigure(None))
    configs.on_topic_change(reconfigure)
    return rounds
