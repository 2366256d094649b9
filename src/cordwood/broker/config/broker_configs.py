"""Effective configuration of a running broker, its topics and its groups.

Kafka: `DynamicBrokerConfig`, `GroupConfigManager`.

    topic or group > this broker > all brokers > startup sources > default

With `cordwood.without.altered.configs`, the settings of this broker and of all brokers are kept and
not used. So one can be deleted that prevents the start, or the connections of clients.

Of the startup sources, the command line overrides the environment, and the environment overrides
`server.properties`. Callers read a value each time they need it, so that a change takes effect at
once. A caller that keeps a derived value registers a callback with `on_change`.

This module does not store anything. A change is planned (`plan_alteration`, `plan_replacement`),
stored by the caller, and then applied (`apply`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Self, TypeVar

from cordwood.broker.config.config_alterations import (
    ConfigAlteration,
    plan_alteration,
    plan_replacement,
    response_error,
)
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.broker.config.described_configs import (
    ALL_BROKERS_SOURCE,
    BROKER_SOURCE,
    GROUP_SOURCE,
    TOPIC_SOURCE,
    DescribedConfig,
    describe_all_brokers,
    describe_broker,
    describe_group,
    describe_groups,
    describe_topic,
)
from cordwood.broker.settings.catalogue import BROKER_SETTINGS, find_setting
from cordwood.broker.settings.group_configs import (
    GROUP_CONFIGS,
    ensure_within_bounds,
    numbers_of,
)
from cordwood.broker.settings.operation import WITHOUT_ALTERED
from cordwood.broker.settings.topic_defaults import TOPIC_DEFAULTS
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import SettingError
from cordwood.core.settings import (
    Password,
    ResolvedSetting,
    SettingSource,
    SettingTable,
    SettingValue,
)
from cordwood.storage.log_config import LogConfig
from cordwood.storage.topic_settings import (
    TOPIC_SETTINGS,
    broker_source,
    config_from,
    ensure_consistent_settings,
)

T = TypeVar("T")
Texts = Mapping[str, str]

_INHERITED: Final = frozenset(each.name for each in TOPIC_DEFAULTS)
_NOTHING: Final[Texts] = MappingProxyType({})


class BrokerConfigs:
    """The configurations of one broker; `given` are the startup sources, strongest first."""

    def __init__(
        self, node_id: int, given: Sequence[SettingSource], *, has_altered: bool = False
    ) -> None:
        self.node_id = node_id
        self._given = tuple(given)
        self._broker = ConfigResource(ResourceType.BROKER, str(node_id))
        self._texts: dict[ConfigResource, Texts] = {}
        self._watchers: list[tuple[frozenset[str], Callable[[], object]]] = []
        self._topic_watchers: list[Callable[[str | None], object]] = []
        self._group_watchers: list[Callable[[str], object]] = []
        self._apply_watchers: list[Callable[[], object]] = []
        self._has_altered = has_altered or not BROKER_SETTINGS.resolve(given)[WITHOUT_ALTERED].value
        self._sources = self._sources_with({})
        self._resolved = BROKER_SETTINGS.resolve(self._sources)
        self._inherited = _for_topics(self._sources)
        _check_for_topics(self._inherited)
        self._inherited_log_config = _log_config(self._inherited)
        self._own_log_configs: dict[str, LogConfig] = {}
        self._described: Sequence[DescribedConfig] | None = None
        self._described_groups: Sequence[DescribedConfig] | None = None

    # -- effective values

    def value(self, name: str) -> SettingValue:
        """Return the broker's value of a setting or of a listener's key."""
        found = self._resolved.get(name)
        return found.value if found is not None else self._resolved_of_listener(name).value

    def integer(self, name: str) -> int:
        """Return an integer value."""
        return _of_kind(name, self.value(name), int)

    def number(self, name: str) -> float:
        """Return a floating point value."""
        return _of_kind(name, self.value(name), float)

    def boolean(self, name: str) -> bool:
        """Return a boolean value."""
        return _of_kind(name, self.value(name), bool)

    def text(self, name: str) -> str:
        """Return a text value, empty if it is not set."""
        return _of_kind(name, self.value(name) or "", str)

    def words(self, name: str) -> tuple[str, ...]:
        """Return a list value, empty if it is not set."""
        return _of_kind(name, self.value(name) or (), tuple)

    def secret(self, name: str) -> str | None:
        """Return a password in clear text."""
        value = self.value(name)
        return None if value is None else _of_kind(name, value, Password).secret

    def is_given(self, key: str) -> bool:
        """Return whether a source has a value under exactly this key."""
        return any(key in source.texts for source in self._sources)

    def config_for(self, topic: str) -> LogConfig:
        """Return the configuration of a topic's logs, cached until it changes."""
        texts = self.texts(topic_resource(topic))
        if not texts:
            return self._inherited_log_config
        if topic not in self._own_log_configs:
            sources = [SettingSource(TOPIC_SOURCE, texts), *self._inherited]
            self._own_log_configs[topic] = _log_config(sources)
        return self._own_log_configs[topic]

    def group_numbers(self, group_id: str) -> dict[str, int]:
        """Return the numbers that a group sets itself, by Kafka's names."""
        own = SettingSource(GROUP_SOURCE, self.texts(group_resource(group_id)))
        return numbers_of(GROUP_CONFIGS.resolve([own]))

    def groups(self) -> list[str]:
        """Return the ids of the groups with a configuration."""
        return [each.name for each in self._texts if each.is_group]

    def texts(self, resource: ConfigResource) -> Texts:
        """Return the texts that are set on a resource itself."""
        return self._texts.get(resource, _NOTHING)

    def altered_names(self, prefix: str = "") -> list[str]:
        """Return the names of altered broker settings that begin with `prefix`."""
        names = {*self.texts(self._broker), *self.texts(ALL_BROKERS)}
        return sorted(name for name in names if name.startswith(prefix))

    # -- descriptions

    def describe(
        self, resource: ConfigResource, names: Iterable[str] | None = None
    ) -> list[DescribedConfig]:
        """Return the described settings of a resource, all or those in `names`."""
        if resource.is_topic:
            entries = self.describe_topic(self.texts(resource))
        elif resource.is_group:
            entries = self._describe_group(self.texts(resource))
        elif resource == ALL_BROKERS:
            entries = describe_all_brokers(self.texts(ALL_BROKERS))
        else:
            entries = iter(self._describe_broker())
        wanted = None if names is None else frozenset(names)
        return [each for each in entries if wanted is None or each.name in wanted]

    def describe_topic(self, texts: Texts) -> Iterator[DescribedConfig]:
        """Yield the described settings of a topic with these texts."""
        resolved = TOPIC_SETTINGS.resolve([SettingSource(TOPIC_SOURCE, texts), *self._inherited])
        return describe_topic(resolved, texts, sources=self._sources)

    # -- changes

    def plan_alteration(
        self, resource: ConfigResource, alterations: Sequence[ConfigAlteration]
    ) -> dict[str, str]:
        """Return a resource's texts after alterations, without applying them."""
        texts = plan_alteration(self.texts(resource), alterations, resource=resource)
        self._check_combination(resource, texts)
        return texts

    def plan_replacement(
        self, resource: ConfigResource, given: Sequence[tuple[str, str | None]]
    ) -> dict[str, str]:
        """Return the texts that replace a resource's own ones, without applying them."""
        texts = plan_replacement(given, resource)
        self._check_combination(resource, texts)
        return texts

    def planned(self, resource: ConfigResource, texts: Texts) -> Self:
        """Return the configurations of the broker as they will be with a resource's new texts."""
        # Settings that are not used now are used again after the next start.
        planned = type(self)(self.node_id, self._given, has_altered=True)
        for each in (ALL_BROKERS, self._broker):
            planned.apply(each, texts if each == resource else self.texts(each))
        return planned

    def apply(self, resource: ConfigResource, texts: Texts) -> None:
        """Set a resource's texts, then make the callbacks for the settings that have changed.

        The texts come from a plan or from the store. Empty texts remove the resource.
        """
        if texts:
            self._texts[resource] = MappingProxyType(dict(texts))
        else:
            self._texts.pop(resource, None)
        if resource.is_topic:
            self._own_log_configs.pop(resource.name, None)
            self._notify_of_topics(resource.name)
        elif resource.is_group:
            for call in self._group_watchers:
                call(resource.name)
        else:
            self._apply_to_broker()

    def on_change(self, names: Iterable[str], call: Callable[[], object]) -> None:
        """Add a callback for changes of any of `names`, also under a listener's prefix."""
        self._watchers.append((frozenset(names), call))

    def on_apply(self, call: Callable[[], object]) -> None:
        """Add a callback for each `apply` to brokers, also with the same texts.

        A text may name a file, and an alteration to the same text reads the file again.
        """
        self._apply_watchers.append(call)

    def on_topic_change(self, call: Callable[[str | None], object]) -> None:
        """Add a callback with the topic whose `config_for` may have changed; None for all."""
        self._topic_watchers.append(call)

    def on_group_change(self, call: Callable[[str], object]) -> None:
        """Add a callback with the id of a group whose own configuration has changed."""
        self._group_watchers.append(call)

    # -- within

    def _describe_broker(self) -> Sequence[DescribedConfig]:
        """Return the described settings of this broker, cached until one changes."""
        if self._described is None:
            self._described = tuple(describe_broker(self._resolved, self._sources))
        return self._described

    def _describe_group(self, texts: Texts) -> Iterator[DescribedConfig]:
        """Yield the settings of a group; those of the broker are cached until one changes."""
        if self._described_groups is None:
            self._described_groups = describe_groups(self._sources)
        return describe_group(texts, sources=self._sources, unset=self._described_groups)

    def _sources_with(self, changed: Mapping[ConfigResource, Texts]) -> list[SettingSource]:
        if not self._has_altered:
            return [*self._given]
        dynamic = ((BROKER_SOURCE, self._broker), (ALL_BROKERS_SOURCE, ALL_BROKERS))
        sources = [
            SettingSource(name, changed.get(resource, self.texts(resource)))
            for name, resource in dynamic
        ]
        return [*sources, *self._given]

    def _resolved_of_listener(self, key: str) -> ResolvedSetting:
        setting = find_setting(key)
        assert setting is not None, f"{key} is not a setting"
        return SettingTable([setting]).resolve(self._sources)[key]

    def _check_combination(self, resource: ConfigResource, texts: Texts) -> None:
        """Raise for values that contradict other values, though each is valid alone."""
        if resource.is_group:
            own = SettingSource(GROUP_SOURCE, texts)
            ensure_within_bounds(GROUP_CONFIGS.resolve([own, *self._sources]), self.integer)
            return
        try:
            if resource.is_topic:
                _check_for_topics([SettingSource(TOPIC_SOURCE, texts), *self._inherited])
            else:
                _check_for_topics(_for_topics(self._sources_with({resource: texts})))
        except SettingError as error:
            raise response_error(error, resource) from error

    def _apply_to_broker(self) -> None:
        before, listeners_before = self._resolved, self._texts_of_listeners()
        self._described = self._described_groups = None
        self._sources = self._sources_with({})
        self._resolved = BROKER_SETTINGS.resolve(self._sources)
        self._inherited = _for_topics(self._sources)
        changed = {
            name for name, found in self._resolved.items() if found.value != before[name].value
        }
        changed |= {
            declaration.synonyms[0].name
            for key, _ in self._texts_of_listeners() ^ listeners_before
            if (declaration := find_setting(key)) is not None
        }
        if changed & _INHERITED:
            self._inherited_log_config = _log_config(self._inherited)
            self._own_log_configs.clear()
            self._notify_of_topics(None)
        for names, call in self._watchers:
            if names & changed:
                call()
        for call in self._apply_watchers:
            call()

    def _notify_of_topics(self, topic: str | None) -> None:
        for call in self._topic_watchers:
            call(topic)

    def _texts_of_listeners(self) -> set[tuple[str, str]]:
        return {
            (key, text)
            for source in self._sources
            for key, text in source.texts.items()
            if BROKER_SETTINGS.find(key) is None and find_setting(key) is not None
        }


def _for_topics(sources: Sequence[SettingSource]) -> list[SettingSource]:
    return [broker_source(source.name, source.texts) for source in sources]


def _check_for_topics(sources: Sequence[SettingSource]) -> None:
    ensure_consistent_settings(TOPIC_SETTINGS.resolve(sources))


def _log_config(sources: Sequence[SettingSource]) -> LogConfig:
    """Return the configuration of logs."""
    # Not checked for contradictions: a broker's new value may contradict a topic's own one.
    return config_from(TOPIC_SETTINGS.resolve(sources))


def _of_kind(name: str, value: SettingValue, kind: type[T]) -> T:
    assert isinstance(value, kind), f"{name} is not of type {kind.__name__}"
    return value
