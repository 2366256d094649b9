"""Table of all settings without an effect, and the reasons.

declared    a name of Kafka 4.3, with type, default and scope
other       a name of an earlier Kafka, or of a plugin; a name that ends in a dot is a prefix
"""

from types import MappingProxyType
from typing import Final

from cordwood.broker.settings.ignored.authentication import AUTHENTICATION
from cordwood.broker.settings.ignored.controller_quorum import CONTROLLER_QUORUM
from cordwood.broker.settings.ignored.group_types import GROUP_TYPES
from cordwood.broker.settings.ignored.java_runtime import JAVA_RUNTIME
from cordwood.broker.settings.ignored.remote_storage import REMOTE_STORAGE
from cordwood.core.settings import SettingTable

_DECLARED: Final = (
    *CONTROLLER_QUORUM,
    *JAVA_RUNTIME,
    *AUTHENTICATION,
    *REMOTE_STORAGE,
    *GROUP_TYPES,
)
_OTHERS: Final = {
    "ZooKeeper is used without TLS and without access control": (
        "zookeeper.clientCnxnSocket",
        "zookeeper.set.acl",
        "zookeeper.ssl.",
    ),
    "there is no migration to a controller quorum": ("zookeeper.metadata.migration.",),
    "Java classes cannot be loaded": (
        "alter.config.policy.",
        "client.quota.callback.",
        "config.providers.",
        "create.topic.policy.",
        "kafka.metrics.",
    ),
    "remote storage is not supported": ("rlmm.config.", "rsm.config."),
    "Kafka 4 has removed them": (
        "auto.include.jmx.reporter",
        "control.plane.listener.name",
        "delegation.token.master.key",
        "eligible.leader.replicas.enable",
        "group.coordinator.new.enable",
        "group.share.enable",
        "group.share.max.groups",
        "inter.broker.protocol.version",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "metadata.log.segment.min.bytes",
        "offsets.commit.required.acks",
        "password.encoder.",
    ),
}

IGNORED_SETTINGS: Final = SettingTable(setting for group in _DECLARED for setting in group.settings)
_REASONS: Final = MappingProxyType(
    {setting.name: group.reason for group in _DECLARED for setting in group.settings}
    | {name: reason for reason, names in _OTHERS.items() for name in names}
)
_PREFIXES: Final = tuple(name for name in _REASONS if name.endswith("."))


def find_ignore_reason(key: str) -> str | None:
    """Return the reason why a key is ignored, None if it is not."""
    if key in _REASONS:
        return _REASONS[key]
    return next((_REASONS[each] for each in _PREFIXES if key.startswith(each)), None)


def ignored_by_reason() -> dict[str, list[str]]:
    """Return the ignored names by their reasons, for the docs."""
    names: dict[str, list[str]] = {}
    for name, reason in _REASONS.items():
        names.setdefault(reason, []).append(name)
    return names
