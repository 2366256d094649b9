"""A setting as it is shown to who asks: its value, whence it is, and what else was said of it.

value       the one that counts, as text; null for a secret and where there is none
synonyms    everything that was said, the strongest first, the defaults last
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cordwood.core.config_codes import TYPE_CODES, ConfigSource
from cordwood.core.settings import (
    DEFAULT_SOURCE,
    Resolved,
    Scope,
    Setting,
    SettingType,
    SettingValue,
    Source,
    text_of,
)

#: The names of the sources that may change; all others were read at the start.
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
class ConfigSynonym:
    """One thing that was said."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """One setting of one resource."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: int
    documentation: str


def entry(
    setting: Setting, resolved: Resolved, *, synonyms: Sequence[ConfigSynonym]
) -> ConfigEntry:
    """Return what is shown of a setting with this value."""
    is_sensitive = setting.type is SettingType.PASSWORD
    return ConfigEntry(
        name=setting.name,
        value=None if is_sensitive else text_of(resolved.value),
        source=_CODES.get(resolved.source, ConfigSource.STATIC_BROKER),
        is_sensitive=is_sensitive,
        is_read_only=setting.scope is Scope.STATIC,
        synonyms=tuple(_without_value(synonyms) if is_sensitive else synonyms),
        type=TYPE_CODES[setting.type],
        documentation=setting.doc,
    )


def said(
    names: Sequence[str], sources: Sequence[Source], *, defaults: Mapping[str, SettingValue]
) -> Iterator[ConfigSynonym]:
    """Yield what sources, the strongest first, say under any of `names`; then the defaults."""
    for source in sources:
        for name in names:
            if name in source.texts:
                code = _CODES.get(source.name, ConfigSource.STATIC_BROKER)
                yield ConfigSynonym(name, source.texts[name], code)
    for name in names:
        if defaults.get(name) is not None:
            yield ConfigSynonym(name, text_of(defaults[name]), ConfigSource.DEFAULT)


def _without_value(synonyms: Sequence[ConfigSynonym]) -> Iterator[ConfigSynonym]:
    for each in synonyms:
        yield ConfigSynonym(each.name, None, each.source)
