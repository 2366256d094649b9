"""All settings of a broker in one table, and what its keys may be.

    key         a setting's name or synonym
              | listener.name.<listener>.<name>   of one listener, where the setting is a listener's
              | one of the ignored

A listener's name is in lower case in a key.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from cordwood.broker.settings.access import ACCESS
from cordwood.broker.settings.cleaner import CLEANER
from cordwood.broker.settings.groups import GROUPS
from cordwood.broker.settings.identity import IDENTITY
from cordwood.broker.settings.ignored import why_ignored
from cordwood.broker.settings.operation import OPERATION
from cordwood.broker.settings.quotas import QUOTAS
from cordwood.broker.settings.replication import REPLICATION
from cordwood.broker.settings.sockets import SOCKETS
from cordwood.broker.settings.tls import TLS
from cordwood.broker.settings.topic_defaults import TOPIC_DEFAULTS
from cordwood.broker.settings.topics import TOPICS
from cordwood.broker.settings.transactions import TRANSACTIONS
from cordwood.broker.settings.upkeep import UPKEEP
from cordwood.core.settings import Setting, SettingTable, Synonym

TABLES: Final = MappingProxyType(
    {
        "The broker": IDENTITY,
        "Sockets": SOCKETS,
        "Topics": TOPICS,
        "What topics inherit": TOPIC_DEFAULTS,
        "Upkeep of logs": UPKEEP,
        "Compaction": CLEANER,
        "Replication": REPLICATION,
        "Consumer groups": GROUPS,
        "Transactions": TRANSACTIONS,
        "Quotas": QUOTAS,
        "TLS": TLS,
        "Access": ACCESS,
        "Cordwood's own": OPERATION,
    }
)
# What these speak of is not there yet; whoever brings it takes its line out.
TO_COME: Final = frozenset({"Replication", "Consumer groups", "Transactions", "Quotas", "Access"})
# What internal topics are made by, and what logs know of transactions, counts before that.
IN_USE_ALREADY: Final = frozenset(
    {
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "offsets.topic.segment.bytes",
        "transaction.max.timeout.ms",
        "transaction.partition.verification.enable",
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.segment.bytes",
    }
)
BROKER_SETTINGS: Final = SettingTable(each for table in TABLES.values() for each in table)

# Kafka has these for its tests and does not show them; here they are as good as any.
UNSHOWN: Final = frozenset(
    {"log.initial.task.delay.ms", "producer.id.expiration.check.interval.ms"}
)
# Kafka changes these on listeners alone, where a new value is a new certificate to serve.
ONLY_OF_LISTENERS: Final = frozenset(
    each.name
    for each in TLS
    if each.name.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))
)
_OF_LISTENERS: Final = frozenset(
    {"connections.max.reauth.ms", "max.connections", "max.connection.creation.rate"}
)
_EARLY: Final = frozenset(each.name for title in TO_COME for each in TABLES[title]) - IN_USE_ALREADY
_LISTENER_KEY: Final = re.compile(r"(listener\.name\.[^.]+\.)(.+)")


def declared(key: str) -> Setting | None:
    """Return what declares a key; for a listener's key, a setting of that name of its own."""
    setting = BROKER_SETTINGS.find(key)
    found = _LISTENER_KEY.fullmatch(key) if setting is None else None
    if found is None:
        return setting
    general = BROKER_SETTINGS.find(found[2])
    if general is None or not _is_of_listeners(general):
        return None
    return replace(general, name=key, synonyms=(Synonym(general.name),))


def why_without_effect(key: str) -> str | None:
    """Return why a key that may be given changes nothing, None if it changes something."""
    setting = declared(key)
    if setting is not None and not _EARLY.isdisjoint(setting.names()):
        return "what it speaks of is still to come"
    return why_ignored(key)


def refuse_unknown(keys: Iterable[str]) -> None:
    """Raise for the first key that is none, with the nearest that is one."""
    BROKER_SETTINGS.refuse_unknown(
        key for key in keys if declared(key) is None and why_ignored(key) is None
    )


def _is_of_listeners(setting: Setting) -> bool:
    return setting.name in _OF_LISTENERS or setting.name.startswith(("ssl.", "sasl."))
