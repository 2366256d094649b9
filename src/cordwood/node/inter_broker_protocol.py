"""Protocol between the brokers of a cluster with Kafka (Kafka: `MetadataVersion`).

Brokers of Kafka send the requests of `inter.broker.protocol.version`. This broker has those of
3.4 to 3.9: LeaderAndIsr 7, UpdateMetadata 8, StopReplica 4, AlterPartition by topic ids. A broker
whose protocol is before 2.7 registers by a version of its node that has no features.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingSource

SETTING: Final = "inter.broker.protocol.version"
_FIRST: Final = (3, 4)
_LAST: Final = (3, 9)
_WORKING: Final = "3.4 to 3.9"
#: The first registration with features.
_FIRST_WITH_FEATURES: Final = 5


def ensure_protocol(given: Sequence[SettingSource]) -> None:
    """Raise SettingError if the own setting asks for a protocol that is not supported."""
    text = next((each.texts[SETTING] for each in given if SETTING in each.texts), "").strip()
    if not text:
        return
    # Between two releases a version has a suffix, such as 3.4-IV0.
    numbers = text.partition("-")[0].split(".")[:2]
    is_known = len(numbers) == len(_FIRST) and all(each.isdecimal() for each in numbers)
    if not is_known or not _FIRST <= tuple(map(int, numbers)) <= _LAST:
        raise SettingError(
            f"setting {SETTING} has the value {text}, and this broker supports {_WORKING}",
            key=SETTING,
            remedy=f"set {SETTING} to {_WORKING} at all brokers of the cluster, or remove it here",
        )


def ensure_registrations(versions: Mapping[int, int]) -> None:
    """Raise SettingError for a registered broker with a protocol that is not supported."""
    for broker_id, version in sorted(versions.items()):
        if version < _FIRST_WITH_FEATURES:
            raise SettingError(
                f"broker {broker_id} is registered by version {version}: its {SETTING} is below "
                f"2.7, and this broker supports {_WORKING}",
                key=SETTING,
                remedy=f"set {SETTING} to {_WORKING} at broker {broker_id}, and restart it",
            )
