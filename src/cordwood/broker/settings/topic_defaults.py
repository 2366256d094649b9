"""What a broker says for topics that do not say it themselves: `log.segment.bytes` and its like.

    same        type, default and bounds are those of the topic's setting
    or null     a time that has several names: where the first is not given, the next is asked
    units       log.retention.hours and its like: whole hours or minutes, read when a broker starts

Which name stands for which setting is told by the topic's synonyms alone. What a null hides, bounds
among it, is checked where the topic's value is made of it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType, SettingValue, Synonym
from cordwood.storage.topic_settings import SAME_AT_THE_BROKER, TOPIC_SETTINGS

_WEEK_HOURS: Final = 168

# What is given in other units has its default here; the times above them have none.
_DEFAULTS_IN_UNITS: Final = {
    "log.retention.minutes": None,
    "log.retention.hours": _WEEK_HOURS,
    "log.roll.hours": _WEEK_HOURS,
    "log.roll.jitter.hours": 0,
}
# Declared beside the timer that it is the interval of.
_DECLARED_ELSEWHERE: Final = {"log.flush.scheduler.interval.ms"}


def _defaults() -> Iterator[Setting]:
    for setting in TOPIC_SETTINGS:
        if setting.name in SAME_AT_THE_BROKER:
            yield replace(setting, scope=Scope.CLUSTER)
        for synonym in setting.synonyms:
            if synonym.name not in _DECLARED_ELSEWHERE:
                yield _default(setting, synonym)


def _default(setting: Setting, synonym: Synonym) -> Setting:
    doc = f"{setting.name} of topics that do not say: {setting.doc[0].lower()}{setting.doc[1:]}"
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
        scope=Scope.CLUSTER,
        doc=doc,
    )


TOPIC_DEFAULTS: Final = SettingTable(_defaults())

#: Where a time has several names, the others in the order in which they are asked.
FALLBACKS: Final = {
    setting.synonyms[0].name: tuple(other.name for other in setting.synonyms[1:])
    for setting in TOPIC_SETTINGS
    if len(setting.synonyms) > 1
}
