"""Settings of the log cleaner (Kafka: `CleanerConfig`)."""

import sys
from typing import Final

from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

CLEANER: Final = SettingTable(
    (
        Setting(
            name="log.cleaner.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether logs with cleanup.policy=compact are cleaned.",
        ),
        Setting(
            name="log.cleaner.threads",
            type=SettingType.INT,
            default=1,
            doc=(
                "The number of logs that are cleaned at a time; each has a read-ahead thread in "
                "addition."
            ),
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.backoff.ms",
            type=SettingType.LONG,
            default=15_000,
            doc="The wait when no log needs cleaning, and after a first failure.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.dedupe.buffer.size",
            type=SettingType.LONG,
            default=134_217_728,
            doc="The memory for keys, over all cleaner threads.",
            scope=SettingScope.CLUSTER,
        ),
        Setting(
            name="log.cleaner.io.buffer.size",
            type=SettingType.INT,
            default=524_288,
            doc="The memory for reading and writing, over all cleaner threads.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.io.buffer.load.factor",
            type=SettingType.DOUBLE,
            default=0.9,
            doc="The share of the memory for keys that is used.",
            scope=SettingScope.CLUSTER,
        ),
        Setting(
            name="log.cleaner.io.max.bytes.per.second",
            type=SettingType.DOUBLE,
            default=sys.float_info.max,
            doc="The highest rate of bytes that the cleaner reads and writes, over all logs.",
            scope=SettingScope.CLUSTER,
        ),
        Setting(
            name="cordwood.compaction.verify",
            type=SettingType.STRING,
            default="sample",
            doc=(
                "Whether a cleaning pass is verified before it takes effect: with all keys "
                "(always), with a sample of keys, or never."
            ),
            one_of=("always", "sample", "never"),
            scope=SettingScope.CLUSTER,
        ),
    )
)
