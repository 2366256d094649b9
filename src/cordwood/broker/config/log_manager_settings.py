"""Settings of the log manager and its maintenance tasks, kept current (Kafka:
`DynamicLogConfig`).
"""

from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.core.types import TopicName
from cordwood.storage.manager.log_manager import LogManager, ManagerSettings
from cordwood.storage.manager.log_sweep import LogSweep
from cordwood.storage.manager.maintenance_tasks import MaintenanceSettings
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig

# The manager's dynamic settings, in addition to the settings that topics inherit.
_DYNAMIC: Final = (
    "num.recovery.threads.per.data.dir",
    "producer.id.expiration.ms",
    "transaction.partition.verification.enable",
)


def producer_settings(configs: BrokerConfigs) -> ProducerStateManagerConfig:
    """Return the settings of the producer state."""
    return ProducerStateManagerConfig(
        id_expiration_ms=configs.integer("producer.id.expiration.ms"),
        is_verifying_transactions=configs.boolean("transaction.partition.verification.enable"),
        max_transaction_timeout_ms=configs.integer("transaction.max.timeout.ms"),
    )


def manager_settings(configs: BrokerConfigs) -> ManagerSettings:
    """Return the settings of the log manager; `config_for` reads a topic's current settings."""
    return ManagerSettings(
        config_for=configs.config_for,
        producers=producer_settings(configs),
        delete_delay_ms=configs.integer("log.segment.delete.delay.ms"),
        threads_per_directory=configs.integer("num.recovery.threads.per.data.dir"),
    )


def maintenance_settings(configs: BrokerConfigs) -> MaintenanceSettings:
    """Return the intervals of the maintenance tasks, which are static."""
    return MaintenanceSettings(
        first_turn_ms=configs.integer("log.initial.task.delay.ms"),
        retention_check_interval_ms=configs.integer("log.retention.check.interval.ms"),
        flush_check_interval_ms=configs.integer("log.flush.scheduler.interval.ms"),
        recovery_point_interval_ms=configs.integer("log.flush.offset.checkpoint.interval.ms"),
        log_start_interval_ms=configs.integer("log.flush.start.offset.checkpoint.interval.ms"),
        high_watermark_interval_ms=configs.integer("replica.high.watermark.checkpoint.interval.ms"),
        producer_check_interval_ms=configs.integer("producer.id.expiration.check.interval.ms"),
    )


def follow_config_changes(manager: LogManager, configs: BrokerConfigs) -> LogSweep:
    """Apply every change of the configuration to a manager's logs, until the sweep is stopped.

    The sweep reads the current configuration when it reaches a log. A later change is therefore
    never undone by an earlier one that is still in progress.
    """
    sweep = LogSweep(manager)

    def reconfigure(topic: str | None) -> None:
        manager.settings = manager_settings(configs)
        logs = None if topic is None else manager.logs_of(TopicName(topic))
        sweep.run(manager.reconfigure, logs=logs)

    configs.on_change(_DYNAMIC, lambda: reconfigure(None))
    configs.on_topic_change(reconfigure)
    return sweep
