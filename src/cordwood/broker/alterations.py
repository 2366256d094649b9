"""What a change makes of a configuration, and whether it may: values in, texts out.

    set         gives a text
    delete      takes it back, known or not
    append      adds to a list what it does not hold yet, beginning with the default
    subtract    takes from a list

All of a resource's changes are made or none. The words of refusals are those that Kafka's clients
have always been told, since people search for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from cordwood.broker.config_resources import ALL_BROKERS, Resource
from cordwood.broker.settings.catalogue import ONLY_OF_LISTENERS, declared
from cordwood.broker.settings.ignored import why_ignored
from cordwood.core.errors import (
    ClientFaultError,
    InvalidConfigError,
    InvalidRequestError,
    SettingError,
)
from cordwood.core.settings import Scope, Setting, SettingType, text_of
from cordwood.storage.topic_settings import TOPIC_SETTINGS


class Operation(IntEnum):
    """Kafka's numbers."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Alteration:
    """One change of one setting."""

    name: str
    operation: Operation
    value: str | None


def plan_alteration(
    current: Mapping[str, str], alterations: Sequence[Alteration], *, resource: Resource
) -> dict[str, str]:
    """Return the texts of a resource after `alterations`; raise for what may not be."""
    _refuse_what_says_nothing(
        (each.name, "" if each.operation is Operation.DELETE else each.value)
        for each in alterations
    )
    texts = dict(current)
    for each in alterations:
        if each.operation is Operation.DELETE:
            texts.pop(each.name, None)
        elif each.operation is Operation.SET:
            texts[each.name] = each.value or ""
        else:
            texts[each.name] = _list_after(each, texts.get(each.name), resource)
    check_texts(texts, resource)
    return texts


def plan_replacement(given: Sequence[tuple[str, str | None]], resource: Resource) -> dict[str, str]:
    """Return the texts of a resource that shall have these and no others."""
    _refuse_what_says_nothing(given)
    texts = {name: text or "" for name, text in given}
    check_texts(texts, resource)
    return texts


def check_texts(texts: Mapping[str, str], resource: Resource) -> None:
    """Raise for the first text that a resource cannot have."""
    if resource.is_topic:
        _check_names_of_topic(texts)
    else:
        _check_names_of_broker(texts, resource)
    for name, text in texts.items():
        setting = _declaration(name, resource)
        assert setting is not None, "unknown names have been refused"
        try:
            setting.parse(text)
        except SettingError as error:
            raise refusal(error, resource) from error


def refusal(error: SettingError, resource: Resource) -> ClientFaultError:
    """Return what a client is told of a text that a resource cannot have."""
    kind = InvalidConfigError if resource.is_topic else InvalidRequestError
    return kind(error.told)


def _declaration(name: str, resource: Resource) -> Setting | None:
    return TOPIC_SETTINGS.find(name) if resource.is_topic else declared(name)


def _refuse_what_says_nothing(given: Iterable[tuple[str, str | None]]) -> None:
    pairs = list(given)
    if any(count > 1 for count in Counter(name for name, _ in pairs).values()):
        raise InvalidRequestError("Error due to duplicate config keys")
    empty = [name for name, text in pairs if text is None]
    if empty:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(empty)}")


def _check_names_of_topic(texts: Mapping[str, str]) -> None:
    for name in texts:
        setting = TOPIC_SETTINGS.find(name)
        if setting is None or setting.name != name:
            raise InvalidConfigError(f"Unknown topic config name: {name}")
    if texts.get("remote.storage.enable", "").strip().lower() == "true":
        raise InvalidConfigError("remote.storage.enable cannot be true: there is no remote storage")


def _check_names_of_broker(texts: Mapping[str, str], resource: Resource) -> None:
    settings = {name: declared(name) for name in texts}
    unknown = [name for name, found in settings.items() if not found and not why_ignored(name)]
    if unknown:
        raise InvalidConfigError(f"Unknown broker config name: {unknown[0]}")
    fixed = [name for name, found in settings.items() if not found or found.scope is Scope.STATIC]
    if fixed:
        raise InvalidRequestError(f"Cannot update these configs dynamically: {_listed(fixed)}")
    bare = [name for name in texts if name in ONLY_OF_LISTENERS]
    if bare:
        raise InvalidRequestError(
            "These security configs can be dynamically updated only per-listener"
            f" using the listener prefix: {_listed(bare)}"
        )
    if resource == ALL_BROKERS:
        _refuse_what_is_of_one_broker(settings)


def _refuse_what_is_of_one_broker(settings: Mapping[str, Setting | None]) -> None:
    own = [name for name, found in settings.items() if found and found.scope is Scope.BROKER]
    if own:
        raise InvalidRequestError(
            "Cannot update these configs at default cluster level,"
            f" broker id must be specified: {_listed(own)}"
        )


def _list_after(change: Alteration, text: str | None, resource: Resource) -> str:
    setting = _declaration(change.name, resource)
    if setting is None or setting.type is not SettingType.LIST:
        verb = change.operation.name
        told = f"Can't {verb} to key {change.name} because its type is not LIST."
        if not resource.is_topic:
            told = f"Config value {verb.lower()} is not allowed for config key: {change.name}"
        raise InvalidConfigError(told)
    present = _parts(text if text is not None else text_of(setting.default))
    given = _parts(change.value)
    if change.operation is Operation.SUBTRACT:
        return ",".join(part for part in present if part not in given)
    return ",".join(dict.fromkeys([*present, *given]))


def _parts(text: str | None) -> list[str]:
    return [part for part in (text or "").split(",") if part]


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"
