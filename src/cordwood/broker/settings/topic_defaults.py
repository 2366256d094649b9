"""Broker-wide defaults of topic settings, for example `log.segment.bytes` (Kafka:
`ServerTopicConfigSynonyms`).

    same        type, default and bounds are those of the topic's setting
    or null     a duration with several names: if the first is not set, the next one applies
    units       log.retention.hours and similar: whole hours or minutes, read at startup

The synonyms of the topic's setting define which broker setting is its default. A broker setting
that may be null has no bounds of its own: the topic's effective value is checked instead.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cordwood.core.settings import (
    Setting,
    SettingScope,
    SettingSynonym,
    SettingTable,
    SettingType,
    SettingValue,
)
from cordwood.storage.topic_settings import SAME_AT_THE_BROKER, TOPIC_SETTINGS

_WEEK_HOURS: Final = 168

# The names in other units carry the default; the names in milliseconds before them have none.
_DEFAULTS_IN_UNITS: Final = {
    "log.retention.minutes": None,
    "log.retention.hours": _WEEK_HOURS,
    "log.roll.hours": _WEEK_HOURS,
    "log.roll.jitter.hours": 0,
}
# Declared with the other intervals of log maintenance.
_DECLARED_ELSEWHERE: Final = {"log.flush.scheduler.interval.ms"}


def _defaults() -> Iterator[Setting]:
    for setting in TOPIC_SETTINGS:
        if setting.name in SAME_AT_THE_BROKER:
            yield replace(setting, scope=SettingScope.CLUSTER)
        for synonym in setting.synonyms:
            if synonym.name not in _DECLARED_ELSEWHERE:
                yield _default(setting, synonym)


def _default(setting: Setting, synonym: SettingSynonym) -> Setting:
    doc = f"The default of {setting.name}: {setting.doc[0].lower()}{setting.doc[1:]}"
    if synonym.name in _DEFAULTS_IN_UNITS:
        default: SettingValue = _DEFAULTS_IN_UNITS[synonym.name]
        return Setting(name=synonym.name, type=SettingType.INT, default=default, doc=doc)
    has_next = len(setting.synonyms) > 1
    return replace(
        setting,
        name=synonym.name,
        default=None if has_next else setting.default,
        at_least=None if has_next else setting.at_least,
        synonyms=(),
        scope=SettingScope.CLUSTER,
        doc=doc,
    )


TOPIC_DEFAULTS: Final = SettingTable(_defaults())

#: The names of a duration with several names, by falling precedence, for each of them.
SYNONYMS: Final = {
    each.name: tuple(other.name for other in setting.synonyms)
    for setting in TOPIC_SETTINGS
    if len(setting.synonyms) > 1
    for each in setting.synonyms
    if each.name not in _DECLARED_ELSEWHERE
}
