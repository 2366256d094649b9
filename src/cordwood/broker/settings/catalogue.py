"""Table of all broker settings, and the grammar of their keys (Kafka: `KafkaConfig`).

    key         a setting's name or synonym
              | listener.name.<listener>.<name>   a listener's own value, for settings of listeners
              | an ignored name that is not declared

The listener's name is in lower case.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from cordwood.broker.settings.access import ACCESS
from cordwood.broker.settings.cleaner import CLEANER
from cordwood.broker.settings.cluster import CLUSTER
from cordwood.broker.settings.groups import GROUPS
from cordwood.broker.settings.identity import IDENTITY
from cordwood.broker.settings.ignored.ignored_catalogue import IGNORED_SETTINGS, find_ignore_reason
from cordwood.broker.settings.log_maintenance import LOG_MAINTENANCE
from cordwood.broker.settings.operation import OPERATION
from cordwood.broker.settings.quotas import QUOTAS
from cordwood.broker.settings.replication import REPLICATION
from cordwood.broker.settings.replication_quotas import REPLICATION_QUOTAS
from cordwood.broker.settings.sockets import SOCKETS
from cordwood.broker.settings.tls import TLS
from cordwood.broker.settings.topic_defaults import TOPIC_DEFAULTS
from cordwood.broker.settings.topics import TOPICS
from cordwood.broker.settings.transactions import TRANSACTIONS
from cordwood.core.errors import SettingError
from cordwood.core.settings import Setting, SettingSynonym, SettingTable

TABLES: Final = MappingProxyType(
    {
        "The broker": IDENTITY,
        "Sockets": SOCKETS,
        "Topics": TOPICS,
        "Topic defaults": TOPIC_DEFAULTS,
        "Log maintenance": LOG_MAINTENANCE,
        "Compaction": CLEANER,
        "The cluster": CLUSTER,
        "Replication": REPLICATION,
        "Replication throttles": REPLICATION_QUOTAS,
        "Consumer groups": GROUPS,
        "Transactions": TRANSACTIONS,
        "Quotas": QUOTAS,
        "TLS": TLS,
        "Access control": ACCESS,
        "Cordwood's own": OPERATION,
    }
)
#: Tables of features that are not implemented yet; the change that adds a feature removes its
#: title.
NOT_IMPLEMENTED: Final = frozenset({"Quotas", "Access control"})
BROKER_SETTINGS: Final = SettingTable(
    each for table in (*TABLES.values(), IGNORED_SETTINGS) for each in table
)

#: Settings of access control, which is not implemented yet: the values that promise no protection.
UNPROTECTED_VALUES: Final = MappingProxyType(
    {
        "authorizer.class.name": "",
        "super.users": "",
        "allow.everyone.if.no.acl.found": "true",
    }
)

#: Settings of checks that are not made, so that a value promises protection: the reason for each.
_NO_SASL: Final = "SASL is not implemented: no client is authenticated by it"
_NO_POLICIES: Final = "Java classes cannot be loaded: every request would be allowed"
UNCHECKED: Final = MappingProxyType(
    {
        "sasl.jaas.config": _NO_SASL,
        "sasl.enabled.mechanisms": _NO_SASL,
        "sasl.server.callback.handler.class": _NO_SASL,
        "delegation.token.secret.key": "delegation tokens are not implemented",
        "create.topic.policy.class.name": _NO_POLICIES,
        "alter.config.policy.class.name": _NO_POLICIES,
    }
)

# Kafka allows dynamic changes of these only under a listener's prefix.
LISTENER_ONLY: Final = frozenset(
    each.name
    for each in TLS
    if each.name.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))
)
_OF_LISTENERS: Final = frozenset(
    {
        "connections.max.reauth.ms",
        "max.connection.creation.rate",
        "max.connections",
        "num.network.threads",
        "principal.builder.class",
    }
)
_WITHOUT_EFFECT: Final = frozenset(each.name for title in NOT_IMPLEMENTED for each in TABLES[title])
_LISTENER_KEY: Final = re.compile(r"(listener\.name\.[^.]+\.)(.+)")


def find_setting(key: str) -> Setting | None:
    """Return the setting of a key; a listener's key gets a setting with the key as its name."""
    setting = BROKER_SETTINGS.find(key)
    found = _LISTENER_KEY.fullmatch(key) if setting is None else None
    if found is None:
        return setting
    general = BROKER_SETTINGS.find(found[2])
    if general is None or not _is_of_listeners(general):
        return None
    return replace(general, name=key, synonyms=(SettingSynonym(general.name),))


def find_no_effect_reason(key: str) -> str | None:
    """Return the reason why a valid key has no effect, None if it has one."""
    setting = find_setting(key)
    if setting is not None and not _WITHOUT_EFFECT.isdisjoint(setting.names()):
        return "its feature is not implemented yet"
    names = [key] if setting is None else setting.names()
    return next(filter(None, map(find_ignore_reason, names)), None)


def ensure_known(keys: Iterable[str]) -> None:
    """Raise SettingError for the first unknown key, with the most similar known one."""
    BROKER_SETTINGS.refuse_unknown(
        key for key in keys if find_setting(key) is None and find_ignore_reason(key) is None
    )


def refuse_promised_protection(texts: Mapping[str, str]) -> None:
    """Raise SettingError for a value that promises access control, since none is served."""
    for key, harmless in UNPROTECTED_VALUES.items():
        text = texts.get(key, harmless).strip()
        if text.lower() != harmless:
            raise SettingError(
                f"setting {key} has the value {text!r}, but there is no authorizer: every client"
                " may read and change everything",
                key=key,
                remedy="remove the setting, and restrict access by the addresses in listeners or"
                " by client certificates (ssl.client.auth=required)",
            )
    for key, text in texts.items():
        reason = UNCHECKED.get(key) or _unchecked_of_listener(key)
        if reason is not None and text.strip():
            raise SettingError(
                f"setting {key} asks for protection, but {reason}",
                key=key,
                remedy="remove the setting, and restrict access by the addresses in listeners or"
                " by client certificates (ssl.client.auth=required)",
            )


def _unchecked_of_listener(key: str) -> str | None:
    """Return why a setting of one listener, and perhaps of one mechanism, protects nothing."""
    if not key.startswith("listener.name."):
        return None
    found = (reason for name, reason in UNCHECKED.items() if key.endswith(f".{name}"))
    return next(found, None)


def _is_of_listeners(setting: Setting) -> bool:
    return setting.name in _OF_LISTENERS or setting.name.startswith(("ssl.", "sasl."))
