"""Planned changes of a configuration, validated (Kafka: `ConfigurationControlManager`).

    set         sets the text
    delete      removes the text, of an unknown setting too
    append      adds the missing elements to a list; an unset list starts from its default
    subtract    removes elements from a list

All changes of a resource are made, or none. Error messages are Kafka's own, since people search for
them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from typing import Final

from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource
from cordwood.broker.settings.catalogue import LISTENER_ONLY, find_setting
from cordwood.broker.settings.group_configs import GROUP_CONFIGS
from cordwood.broker.settings.ignored.ignored_catalogue import find_ignore_reason
from cordwood.core.errors import (
    ClientFaultError,
    InvalidConfigError,
    InvalidRequestError,
    SettingError,
)
from cordwood.core.settings import Setting, SettingScope, SettingType, text_of
from cordwood.storage.topic_settings import TOPIC_SETTINGS

#: The similarity of a name that is suggested for an unknown one.
_CLOSE_ENOUGH: Final = 0.8


class AlterOperation(IntEnum):
    """The operation of an alteration, with Kafka's numbers (Kafka: `AlterConfigOp.OpType`)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """One change of one setting (Kafka: `AlterConfigOp`)."""

    name: str
    operation: AlterOperation
    value: str | None


def plan_alteration(
    current: Mapping[str, str], alterations: Sequence[ConfigAlteration], *, resource: ConfigResource
) -> dict[str, str]:
    """Return the texts of a resource after `alterations`; raise if they are invalid."""
    ensure_complete(alterations)
    texts = dict(current)
    for each in alterations:
        if each.operation is AlterOperation.DELETE:
            texts.pop(each.name, None)
        elif each.operation is AlterOperation.SET:
            texts[each.name] = each.value or ""
        else:
            texts[each.name] = _alter_list(each, texts.get(each.name), resource)
    check_texts(texts, resource)
    return texts


def plan_replacement(
    given: Sequence[tuple[str, str | None]], resource: ConfigResource
) -> dict[str, str]:
    """Return the texts that replace a resource's whole configuration."""
    _ensure_complete(given)
    texts = {name: text or "" for name, text in given}
    check_texts(texts, resource)
    return texts


def check_texts(texts: Mapping[str, str], resource: ConfigResource) -> None:
    """Raise for the first text that is invalid for the resource."""
    if resource.is_topic:
        _check_names_of_topic(texts)
    elif resource.is_group:
        if not resource.name:
            raise InvalidRequestError("Default group resources are not allowed.")
        _check_names_of_group(texts)
    else:
        _check_names_of_broker(texts, resource)
    for name in _in_order(texts, resource):
        setting = _declaration(name, resource)
        assert setting is not None, "unknown names have been rejected"
        try:
            setting.parse(texts[name])
        except SettingError as error:
            raise response_error(error, resource) from error


def response_error(error: SettingError, resource: ConfigResource) -> ClientFaultError:
    """Return the error for a response about an invalid text."""
    kind = InvalidRequestError if resource.is_broker else InvalidConfigError
    return kind(error.kafka_message)


def _declaration(name: str, resource: ConfigResource) -> Setting | None:
    if resource.is_broker:
        return find_setting(name)
    return TOPIC_SETTINGS.find(name) if resource.is_topic else GROUP_CONFIGS.find(name)


def _in_order(texts: Mapping[str, str], resource: ConfigResource) -> Iterable[str]:
    """Return the names in the order of validation: as given, or as Kafka declares them."""
    return (
        [each.name for each in GROUP_CONFIGS if each.name in texts] if resource.is_group else texts
    )


def ensure_complete(alterations: Sequence[ConfigAlteration]) -> None:
    """Raise for duplicate names and for null values."""
    _ensure_complete(
        [
            (each.name, "" if each.operation is AlterOperation.DELETE else each.value)
            for each in alterations
        ]
    )


def _ensure_complete(pairs: Sequence[tuple[str, str | None]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise InvalidRequestError("Error due to duplicate config keys")
    empty = [name for name, text in pairs if text is None]
    if empty:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(empty)}")


def _check_names_of_topic(texts: Mapping[str, str]) -> None:
    for name in texts:
        setting = TOPIC_SETTINGS.find(name)
        if setting is None or setting.name != name:
            known = [each.name for each in TOPIC_SETTINGS]
            near = get_close_matches(name, known, n=1, cutoff=_CLOSE_ENOUGH)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidConfigError(f"Unknown topic config name: {name}{hint}")
    if texts.get("remote.storage.enable", "").strip().lower() == "true":
        raise InvalidConfigError("remote.storage.enable cannot be true: there is no remote storage")


def _check_names_of_group(texts: Mapping[str, str]) -> None:
    for name in texts:
        setting = GROUP_CONFIGS.find(name)
        if setting is None or setting.name != name:
            raise InvalidConfigError(f"Unknown group config name: {name}")


def _check_names_of_broker(texts: Mapping[str, str], resource: ConfigResource) -> None:
    settings = {name: find_setting(name) for name in texts}
    unknown = [
        name for name, found in settings.items() if not found and not find_ignore_reason(name)
    ]
    if unknown:
        raise InvalidConfigError(f"Unknown broker config name: {unknown[0]}")
    fixed = [
        name for name, found in settings.items() if not found or found.scope is SettingScope.STATIC
    ]
    if fixed:
        raise InvalidRequestError(f"Cannot update these configs dynamically: {_listed(fixed)}")
    bare = [name for name in texts if name in LISTENER_ONLY]
    if bare:
        raise InvalidRequestError(
            "These security configs can be dynamically updated only per-listener"
            f" using the listener prefix: {_listed(bare)}"
        )
    if resource == ALL_BROKERS:
        _ensure_cluster_wide(settings)


def _ensure_cluster_wide(settings: Mapping[str, Setting | None]) -> None:
    own = [name for name, found in settings.items() if found and found.scope is SettingScope.BROKER]
    if own:
        raise InvalidRequestError(
            "Cannot update these configs at default cluster level,"
            f" broker id must be specified: {_listed(own)}"
        )


def _alter_list(change: ConfigAlteration, text: str | None, resource: ConfigResource) -> str:
    setting = _declaration(change.name, resource)
    if setting is None or setting.type is not SettingType.LIST:
        verb = change.operation.name
        words = f"Can't {verb} to key {change.name} because its type is not LIST."
        if resource.is_broker:
            words = f"Config value {verb.lower()} is not allowed for config key: {change.name}"
        raise InvalidConfigError(words)
    present = _parts(text if text is not None else text_of(setting.default))
    given = _parts(change.value)
    if change.operation is AlterOperation.SUBTRACT:
        removed = frozenset(given)
        return ",".join(part for part in present if part not in removed)
    return ",".join(dict.fromkeys([*present, *given]))


def _parts(text: str | None) -> list[str]:
    return [part for part in (text or "").split(",") if part]


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"
