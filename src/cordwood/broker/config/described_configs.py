"""Described settings: effective value, source and synonyms (Kafka: `ConfigHelper`).

value       the effective value as text; null for a secret, or without a value
synonyms    all configured values, by falling precedence, then the defaults
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.config_codes import TYPE_CODES, ConfigSource
from cordwood.core.settings import (
    DEFAULT_SOURCE,
    ResolvedSetting,
    Setting,
    SettingScope,
    SettingSource,
    SettingType,
    SettingValue,
    text_of,
)

#: The names of the dynamic sources; all other sources were read at startup.
TOPIC_SOURCE: Final = "topic"
BROKER_SOURCE: Final = "dynamic broker"
ALL_BROKERS_SOURCE: Final = "dynamic default"
_CODES: Final = MappingProxyType(
    {
        TOPIC_SOURCE: ConfigSource.DYNAMIC_TOPIC,
        BROKER_SOURCE: ConfigSource.DYNAMIC_BROKER,
        ALL_BROKERS_SOURCE: ConfigSource.DYNAMIC_DEFAULT_BROKER,
        DEFAULT_SOURCE: ConfigSource.DEFAULT,
    }
)


@dataclass(frozen=True, slots=True)
class DescribedSynonym:
    """One configured value of a setting."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig:
    """One setting of one resource with its effective value."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[DescribedSynonym, ...]
    type: int
    documentation: str


def describe_setting(
    setting: Setting, resolved: ResolvedSetting, *, synonyms: Sequence[DescribedSynonym]
) -> DescribedConfig:
    """Return the description of a setting with this effective value."""
    is_sensitive = setting.type is SettingType.PASSWORD
    return DescribedConfig(
        name=setting.name,
        value=None if is_sensitive else text_of(resolved.value),
        source=_CODES.get(resolved.source, ConfigSource.STATIC_BROKER),
        is_sensitive=is_sensitive,
        is_read_only=setting.scope is SettingScope.STATIC,
        synonyms=tuple(_without_value(synonyms) if is_sensitive else synonyms),
        type=TYPE_CODES[setting.type],
        documentation=setting.doc,
    )


def find_synonyms(
    names: Sequence[str], sources: Sequence[SettingSource], *, defaults: Mapping[str, SettingValue]
) -> Iterator[DescribedSynonym]:
    """Yield the values of `names` in the sources, strongest source first; then the defaults."""
    for source in sources:
        for name in names:
            if name in source.texts:
                code = _CODES.get(source.name, ConfigSource.STATIC_BROKER)
                yield DescribedSynonym(name, source.texts[name], code)
    for name in names:
        if defaults.get(name) is not None:
            yield DescribedSynonym(name, text_of(defaults[name]), ConfigSource.DEFAULT)


def _without_value(synonyms: Sequence[DescribedSynonym]) -> Iterator[DescribedSynonym]:
    for each in synonyms:
        yield DescribedSynonym(each.name, None, each.source)
