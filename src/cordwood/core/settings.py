"""Declaration, parsing and resolution of settings (Kafka: `ConfigDef`).

    Setting         name, type, default, range, doc, synonyms, scope (Kafka: `ConfigKey`)
    SettingTable    the declarations of one subject (Kafka: `ConfigDef`)
    SettingSource   given values: a name for messages, and text by key

A setting has several names: its own, then its synonyms in order. The first name that any source
gives wins. Among sources, the first one that gives that name wins. So `log.retention.ms` overrides
`log.retention.minutes` in every source, and a topic's value overrides its broker's.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from cordwood.core.errors import SettingError
from cordwood.core.java_text import double_text

DEFAULT_SOURCE: Final = "default"

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class SettingType(Enum):
    """Type of a setting (Kafka: `ConfigDef.Type`)."""

    BOOLEAN = "boolean"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    CLASS = "class"
    PASSWORD = "password"  # noqa: S105 - the type's name, not a secret


class SettingScope(Enum):
    """Scope of a value, and when it may change (Kafka: dynamic update mode)."""

    STATIC = "static"  # one broker, read when it starts
    BROKER = "broker"  # one broker, while it runs
    CLUSTER = "cluster"  # all brokers, while they run
    TOPIC = "topic"  # one topic, while it is in use
    GROUP = "group"  # one group, while it is in use


@dataclass(frozen=True, slots=True)
class Password:
    """Secret that neither str nor repr shows (Kafka: `Password`)."""

    secret: str = field(repr=False)

    def __str__(self) -> str:
        return "[hidden]"


SettingValue: TypeAlias = bool | int | float | str | tuple[str, ...] | Password | None


@dataclass(frozen=True, slots=True)
class SettingSynonym:
    """Another name for a setting; its number times `factor` is the setting's number."""

    name: str
    factor: int = 1


class _SettingProblem(NamedTuple):
    """Reason to reject a value: our text, Kafka's message for its clients, and a remedy.

    Without a remedy it is the accepted values.
    """

    text: str
    found: str
    kafka_message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One declaration; `check` returns the problem of a value, or an empty string.

    `kafka_message` is Kafka's message about such a value, with {value} in the place of the value.
    An internal setting is described only if a source gives it (Kafka: `internalConfig`).
    """

    name: str
    type: SettingType
    default: SettingValue
    doc: str
    scope: SettingScope = SettingScope.STATIC
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    synonyms: tuple[SettingSynonym, ...] = ()
    check: Callable[[SettingValue], str] | None = None
    kafka_message: str = ""
    is_internal: bool = False

    def parse(self, text: str, *, given_as: str | None = None) -> SettingValue:
        """Return the value of `text`, given under the setting's name or one of its synonyms."""
        key = given_as or self.name
        factor = next((other.factor for other in self.synonyms if other.name == key), 1)
        value = _PARSERS[self.type](text.strip())
        if value is None:
            raise self._refusal(key, text, _not_of_type(self.type, text))
        if factor != 1 and isinstance(value, int) and value != -1:  # -1 means unlimited
            value *= factor
        problem = self._problem_of(value, text)
        if problem is not None:
            raise self._refusal(key, text, problem)
        return value

    def names(self) -> Iterator[str]:
        """Yield the setting's own name, then its synonyms, in order of precedence."""
        yield self.name
        yield from (synonym.name for synonym in self.synonyms)

    def allowed(self) -> str:
        """Describe the accepted values."""
        words = [self.type.value]
        if self.at_least is not None:
            words.append(f"at least {self.at_least}")
        if self.at_most is not None:
            words.append(f"at most {self.at_most}")
        if self.one_of:
            words.append(f"of {', '.join(self.one_of)}")
        return " ".join(words)

    def _accepted(self) -> str:
        """Return the accepted values as a part of a sentence."""
        if self.one_of:
            *others, last = self.one_of
            choice = f"{', '.join(others)} or {last}" if others else last
            return f"a list of {choice}" if self.type is SettingType.LIST else choice
        if self.type is SettingType.BOOLEAN:
            return "true or false"
        kind = f"{'an' if self.type is SettingType.INT else 'a'} {self.type.value}"
        if self.at_least is not None and self.at_most is not None:
            return f"{kind} from {self.at_least} to {self.at_most}"
        if self.at_least is not None:
            return f"{kind} of at least {self.at_least}"
        return kind if self.at_most is None else f"{kind} of at most {self.at_most}"

    def _problem_of(self, value: SettingValue, text: str) -> _SettingProblem | None:
        if isinstance(value, int | float):
            problem = self._problem_of_number(value, text)
            if problem is not None:
                return problem
        if self.one_of:
            given = value if isinstance(value, tuple) else (value,)
            unknown = [str(part) for part in given if part not in self.one_of]
            if unknown:
                kafka_message = f"String must be one of: {', '.join(self.one_of)}"
                subject = "which" if len(given) == 1 else f"but {unknown[0]!r}"
                return _SettingProblem(f"{subject} is not accepted", unknown[0], kafka_message)
        found = self.check(value) if self.check else ""
        kafka_message = self.kafka_message.replace("{value}", text) or f"the value {found}"
        remedy = "correct the value"
        return _SettingProblem(f"which {found}", text, kafka_message, remedy) if found else None

    def _problem_of_number(self, value: float, text: str) -> _SettingProblem | None:
        lowest, highest = _LIMITS.get(self.type, (value, value))
        if not lowest <= value <= highest:
            problem = _not_of_type(self.type, text)
            return problem._replace(text=f"which does not fit type {self.type.value}")
        if self.at_least is not None and value < self.at_least:
            kafka_message = f"Value must be at least {self.at_least}"
            return _SettingProblem(f"which is below {self.at_least}", str(value), kafka_message)
        if self.at_most is not None and value > self.at_most:
            kafka_message = f"Value must be no more than {self.at_most}"
            return _SettingProblem(f"which is above {self.at_most}", str(value), kafka_message)
        return None

    def _refusal(self, key: str, text: str, problem: _SettingProblem) -> SettingError:
        is_secret = self.type is SettingType.PASSWORD
        shown, found = ("[hidden]", "[hidden]") if is_secret else (repr(text), problem.found)
        remedy = problem.remedy or f"use {self._accepted()}"
        if key != self.name:
            remedy = f"{self.name}, which it sets, takes {self._accepted()}"
        return SettingError(
            f"setting {key} has the value {shown}, {problem.text}",
            key=key,
            remedy=remedy,
            kafka_message=f"Invalid value {found} for configuration {key}: {problem.kafka_message}",
        )


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Given values: of a file, the environment or a topic."""

    name: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResolvedSetting:
    """A value, the key that it was given under, and the name of its source."""

    value: SettingValue
    key: str
    source: str


class SettingTable:
    """Immutable declarations of one subject, by name; names and synonyms are unique."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        by_name: dict[str, Setting] = {}
        known: set[str] = set()
        for setting in settings:
            by_name[setting.name] = setting
            for name in setting.names():
                if name in known:
                    raise SettingError(
                        f"setting {name} is declared twice", key=name, remedy="rename one of them"
                    )
                known.add(name)
        self._by_name: Mapping[str, Setting] = MappingProxyType(by_name)
        self._known = frozenset(known)
        self._names = {each.name: (*each.names(),) for each in self}
        self._defaults = {
            each.name: ResolvedSetting(each.default, each.name, DEFAULT_SOURCE) for each in self
        }

    def find(self, key: str) -> Setting | None:
        """Return the setting with `key` as its name or a synonym."""
        if key in self._by_name or key not in self._known:
            return self._by_name.get(key)
        return next(setting for setting in self if key in setting.names())

    def __getitem__(self, name: str) -> Setting:
        return self._by_name[name]

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        """Return whether a key is a name or a synonym of a setting."""
        return name in self._known

    def refuse_unknown(self, keys: Iterable[str]) -> None:
        """Raise SettingError for the first unknown key, with the nearest known one."""
        for key in keys:
            if key not in self._known:
                near = get_close_matches(key, sorted(self._known), n=1)
                remedy = f"did you mean {near[0]}?" if near else "remove it"
                raise SettingError(f"setting {key} is unknown", key=key, remedy=remedy)

    def resolve(self, sources: Sequence[SettingSource]) -> dict[str, ResolvedSetting]:
        """Return every setting's value; the first source has the highest precedence."""
        given = {key for source in sources for key in source.texts}
        return {
            name: _resolve(self._by_name[name], sources)
            if not given.isdisjoint(self._names[name])
            else default
            for name, default in self._defaults.items()
        }


def text_of(value: SettingValue) -> str | None:
    """Return `value` as text in Java's format, which `Setting.parse` reads; hide a secret."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, tuple):
        return ",".join(value)
    return None if value is None else str(value)


def texts_of(values: Mapping[str, SettingValue]) -> dict[str, str]:
    """Return values as texts for a `SettingSource`; None is left out."""
    return {name: text for name, value in values.items() if (text := text_of(value)) is not None}


def _resolve(setting: Setting, sources: Sequence[SettingSource]) -> ResolvedSetting:
    for name in setting.names():
        for source in sources:
            if name in source.texts:
                value = setting.parse(source.texts[name], given_as=name)
                return ResolvedSetting(value, name, source.name)
    return ResolvedSetting(setting.default, setting.name, DEFAULT_SOURCE)


def _not_of_type(kind: SettingType, text: str) -> _SettingProblem:
    kafka_message = f"Not a number of type {kind.name}"
    if kind is SettingType.BOOLEAN:
        kafka_message = "Expected value to be either true or false"
    return _SettingProblem(f"which is not of type {kind.value}", text, kafka_message)


def _parse_boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _parse_whole_number(text: str) -> int | None:
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


def _parse_number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


_PARSERS: Final[Mapping[SettingType, Callable[[str], SettingValue]]] = {
    SettingType.BOOLEAN: _parse_boolean,
    SettingType.SHORT: _parse_whole_number,
    SettingType.INT: _parse_whole_number,
    SettingType.LONG: _parse_whole_number,
    SettingType.DOUBLE: _parse_number,
    SettingType.STRING: str,
    SettingType.LIST: _parse_list,
    SettingType.CLASS: str,
    SettingType.PASSWORD: Password,
}

_LIMITS: Final[Mapping[SettingType, tuple[float, float]]] = {
    SettingType.SHORT: (-(1 << 15), (1 << 15) - 1),
    SettingType.INT: (INT32_MIN, INT32_MAX),
    SettingType.LONG: (INT64_MIN, INT64_MAX),
    SettingType.DOUBLE: (-sys.float_info.max, sys.float_info.max),
}
