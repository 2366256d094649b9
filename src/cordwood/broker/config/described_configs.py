"""Described settings: effective value, source and synonyms (Kafka: `ConfigHelper`).

value       the effective value as text; null for a secret, or without a value
synonyms    all configured values, by falling precedence, then the defaults; values before the first
            one under the setting's own name are left out
source      the source of the first synonym; without synonyms, the default

The last two rules are Kafka's. For example `retention.ms` has no synonyms and the default as its
source while only `log.retention.hours` is set, though its value is that number of hours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from types import MappingProxyType
from typing import Final

from cordwood.broker.settings.catalogue import BROKER_SETTINGS, find_setting
from cordwood.broker.settings.group_configs import GROUP_CONFIGS
from cordwood.broker.settings.identity import ALIASES
from cordwood.broker.settings.topic_defaults import SYNONYMS
from cordwood.core.config_codes import TYPE_CODES, UNKNOWN_TYPE, ConfigSource
from cordwood.core.settings import (
    DEFAULT_SOURCE,
    ResolvedSetting,
    Setting,
    SettingScope,
    SettingSource,
    SettingTable,
    SettingType,
    SettingValue,
    text_of,
)
from cordwood.storage.topic_settings import (
    INTERNAL_SEGMENT_BYTES,
    SAME_AT_THE_BROKER,
    TOPIC_SETTINGS,
)

#: The names of the dynamic sources; all other sources were read at startup.
TOPIC_SOURCE: Final = "topic"
GROUP_SOURCE: Final = "group"
BROKER_SOURCE: Final = "dynamic broker"
ALL_BROKERS_SOURCE: Final = "dynamic default"
_CODES: Final = MappingProxyType(
    {
        TOPIC_SOURCE: ConfigSource.DYNAMIC_TOPIC,
        GROUP_SOURCE: ConfigSource.DYNAMIC_GROUP,
        BROKER_SOURCE: ConfigSource.DYNAMIC_BROKER,
        ALL_BROKERS_SOURCE: ConfigSource.DYNAMIC_DEFAULT_BROKER,
        DEFAULT_SOURCE: ConfigSource.DEFAULT,
    }
)
_DEFAULTS: Final = MappingProxyType(
    {each.name: each.default for each in (*BROKER_SETTINGS, *ALIASES)}
)
#: Two names of one setting: a text under one of them counts for both.
_IDS: Final = ("node.id", "broker.id")


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


def describe_topic(
    resolved: Mapping[str, ResolvedSetting],
    texts: Mapping[str, str],
    *,
    sources: Sequence[SettingSource],
) -> Iterator[DescribedConfig]:
    """Yield the settings of a topic with these texts; `sources` are the broker's."""
    own = SettingSource(TOPIC_SOURCE, texts)
    for setting in TOPIC_SETTINGS:
        found = resolved[setting.name]
        if setting.name == INTERNAL_SEGMENT_BYTES:
            continue
        if found.source == DEFAULT_SOURCE:
            yield _UNSET_OF_TOPIC[setting.name]
        else:
            yield _describe(setting, found.value, _topic_synonyms(setting, own, sources))


def describe_groups(sources: Sequence[SettingSource]) -> Sequence[DescribedConfig]:
    """Return the settings of a group without its own; `sources` are the broker's."""
    own, resolved = SettingSource(GROUP_SOURCE, {}), GROUP_CONFIGS.resolve(sources)
    return [
        _describe(each, resolved[each.name].value, _group_synonyms(each, own, sources))
        for each in GROUP_CONFIGS
    ]


def describe_group(
    texts: Mapping[str, str],
    *,
    sources: Sequence[SettingSource],
    unset: Sequence[DescribedConfig],
) -> Iterator[DescribedConfig]:
    """Yield the settings of a group with these texts; `unset` are those of a group without any."""
    own = SettingSource(GROUP_SOURCE, texts)
    for setting, inherited in zip(GROUP_CONFIGS, unset, strict=True):
        if setting.name in texts:
            value = setting.parse(texts[setting.name])
            yield _describe(setting, value, _group_synonyms(setting, own, sources))
        else:
            yield inherited


def describe_broker(
    resolved: Mapping[str, ResolvedSetting], sources: Sequence[SettingSource]
) -> Iterator[DescribedConfig]:
    """Yield the settings of a broker: all declared ones, then the other names that are given."""
    sources = [_with_both_ids(each) for each in sources]
    given = {key for source in sources for key in source.texts}
    for setting in BROKER_SETTINGS:
        name = setting.name
        if resolved[name].source != DEFAULT_SOURCE:
            yield _describe(setting, resolved[name].value, find_synonyms(name, sources))
        elif not setting.is_internal:
            yield _UNSET[name]
    for alias in ALIASES:
        own = ALIASES.resolve(sources)[alias.name]
        value = resolved["node.id"].value if alias.name in _IDS else own.value
        yield _describe(alias, value, find_synonyms(alias.name, sources))
    for key in sorted(given):
        if key not in BROKER_SETTINGS:
            yield _describe_given(key, sources)


def describe_all_brokers(texts: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Yield the settings that are set on all brokers."""
    source = SettingSource(ALL_BROKERS_SOURCE, texts)
    for key, text in texts.items():
        setting = find_setting(key)
        assert setting is not None, "only texts of declared settings are applied"
        yield _describe(setting, setting.parse(text), _texts([key], [source]))


def find_synonyms(name: str, sources: Sequence[SettingSource]) -> Iterator[DescribedSynonym]:
    """Yield the values of a broker setting in the sources, strongest first; then the defaults."""
    setting = find_setting(name)
    is_of_listener = setting is not None and name not in BROKER_SETTINGS
    names = [*setting.names()] if setting and is_of_listener else SYNONYMS.get(name, (name,))
    found = [*_texts(names, sources), *_default_texts(names)]
    return dropwhile(lambda each: each.name != name, found)


def _describe(
    setting: Setting, value: SettingValue, synonyms: Iterable[DescribedSynonym]
) -> DescribedConfig:
    is_sensitive = setting.type is SettingType.PASSWORD
    shown = tuple(replace(each, value=None) if is_sensitive else each for each in synonyms)
    return DescribedConfig(
        name=setting.name,
        value=None if is_sensitive else text_of(value),
        source=shown[0].source if shown else ConfigSource.DEFAULT,
        is_sensitive=is_sensitive,
        is_read_only=setting.scope is SettingScope.STATIC,
        synonyms=shown,
        type=TYPE_CODES[setting.type],
        documentation=setting.doc,
    )


def _describe_given(key: str, sources: Sequence[SettingSource]) -> DescribedConfig:
    """Return the description of a listener's key, or of a name that is not declared."""
    setting = find_setting(key)
    if setting is not None:
        value = SettingTable([setting]).resolve(sources)[key].value
        # Kafka lists only general names as dynamic.
        static = replace(setting, scope=SettingScope.STATIC)
        return _describe(static, value, find_synonyms(key, sources))
    # Kafka hides the value of such a name, since it may be a secret.
    synonyms = tuple(replace(each, value=None) for each in _texts([key], sources))
    return DescribedConfig(
        name=key,
        value=None,
        source=synonyms[0].source,
        is_sensitive=True,
        is_read_only=True,
        synonyms=synonyms,
        type=UNKNOWN_TYPE,
        documentation="",
    )


def _topic_synonyms(
    setting: Setting, own: SettingSource, sources: Sequence[SettingSource]
) -> Iterator[DescribedSynonym]:
    """Yield a topic's own text, then the synonyms of the broker's setting that is its default."""
    yield from _texts([setting.name], [own])
    if setting.synonyms:
        yield from find_synonyms(setting.synonyms[0].name, sources)
    elif setting.name in SAME_AT_THE_BROKER:
        yield from find_synonyms(setting.name, sources)


def _group_synonyms(
    setting: Setting, own: SettingSource, sources: Sequence[SettingSource]
) -> Iterator[DescribedSynonym]:
    """Yield a group's own value, then the synonyms of the broker's setting, or the default."""
    for each in _texts([setting.name], [own]):
        yield replace(each, value=text_of(setting.parse(each.value or "")))
    if setting.synonyms:
        yield from find_synonyms(setting.synonyms[0].name, sources)
    else:
        yield DescribedSynonym(setting.name, text_of(setting.default), ConfigSource.DEFAULT)


def _texts(names: Sequence[str], sources: Sequence[SettingSource]) -> Iterator[DescribedSynonym]:
    for source in sources:
        for name in names:
            if name in source.texts:
                code = _CODES.get(source.name, ConfigSource.STATIC_BROKER)
                yield DescribedSynonym(name, source.texts[name], code)


def _default_texts(names: Sequence[str]) -> Iterator[DescribedSynonym]:
    for name in names:
        if _DEFAULTS.get(name) is not None:
            yield DescribedSynonym(name, text_of(_DEFAULTS[name]), ConfigSource.DEFAULT)


def _with_both_ids(source: SettingSource) -> SettingSource:
    text = next((source.texts[name] for name in _IDS if name in source.texts), None)
    if text is None:
        return source
    return SettingSource(source.name, {**dict.fromkeys(_IDS, text), **source.texts})


#: The descriptions of settings that no source gives, made once: they are most of a response.
_UNSET: Final = MappingProxyType(
    {
        each.name: _describe(each, each.default, find_synonyms(each.name, []))
        for each in BROKER_SETTINGS
    }
)
_UNSET_OF_TOPIC: Final = MappingProxyType(
    {
        each.name: _describe(
            each, each.default, _topic_synonyms(each, SettingSource(TOPIC_SOURCE, {}), [])
        )
        for each in TOPIC_SETTINGS
    }
)
