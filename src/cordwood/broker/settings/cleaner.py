"""Compaction: whether, how fast and with how much memory."""

import sys
from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

CLEANER: Final = SettingTable(
    (
        Setting(
            name="log.cleaner.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether logs with the policy compact are compacted.",
        ),
        Setting(
            name="log.cleaner.threads",
            type=SettingType.INT,
            default=1,
            doc="How many logs are compacted at a time; for each a thread reads ahead, too.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.backoff.ms",
            type=SettingType.LONG,
            default=15_000,
            doc="How long to wait when no log is worth compacting, and after the first failure.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.dedupe.buffer.size",
            type=SettingType.LONG,
            default=134_217_728,
            doc="The memory for keys, over all logs that are compacted at a time.",
            scope=Scope.CLUSTER,
        ),
        Setting(
            name="log.cleaner.io.buffer.size",
            type=SettingType.INT,
            default=524_288,
            doc="The memory for reading and writing, over all logs that are compacted at a time.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="log.cleaner.io.buffer.load.factor",
            type=SettingType.DOUBLE,
            default=0.9,
            doc="The share of the memory for keys that is used.",
            scope=Scope.CLUSTER,
        ),
        Setting(
            name="log.cleaner.io.max.bytes.per.second",
            type=SettingType.DOUBLE,
            default=sys.float_info.max,
            doc="The most bytes a second that compaction reads and writes, over all logs.",
            scope=Scope.CLUSTER,
        ),
        Setting(
            name="cordwood.compaction.verify",
            type=SettingType.STRING,
            default="sample",
            doc="Whether each pass is proven right before it counts: all keys, a sample of them, "
            "or not at all.",
            one_of=("always", "sample", "never"),
            scope=Scope.CLUSTER,
        ),
    )
)
