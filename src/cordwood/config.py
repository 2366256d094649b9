"""Startup settings of a broker from all sources, validated (Kafka: `KafkaConfig`).

    --set key=value            strongest
    CORDWOOD_LOG_RETENTION_MS  log.retention.ms in the environment; dots become underscores
    server.properties          weakest

An unknown key is rejected with the most similar known one, since a misspelt setting would have no
effect. In the environment it is only a warning, since other programs set names there too. Settings
of Kafka without a meaning here are accepted with a warning. A setting that promises access control
is rejected, since a warning would leave the broker open to every client.
"""

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cordwood.broker.settings.catalogue import (
    ensure_known,
    find_no_effect_reason,
    find_setting,
    refuse_promised_protection,
)
from cordwood.broker.settings.ignored.ignored_catalogue import find_ignore_reason
from cordwood.core.errors import BytesError, DamagedFileError, SettingError
from cordwood.core.properties import read_properties
from cordwood.core.settings import SettingSource

COMMAND_LINE: Final = "--set"
ENVIRONMENT: Final = "environment"

_PREFIX: Final = "CORDWOOD_"
_OWN: Final = "cordwood."
# Read when the package is imported, or by the commands; not settings of the broker.
_OF_PACKAGE: Final = frozenset(
    {"CORDWOOD_BOOTSTRAP_SERVER", "CORDWOOD_CONFIG", "CORDWOOD_CPU_LEVEL", "CORDWOOD_KERNELS"}
)


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """The sources, the strongest first, and warnings for the operator."""

    sources: tuple[SettingSource, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertiesFile:
    """A `server.properties` file: its path and content."""

    path: str
    content: bytes


def read_settings(
    file: PropertiesFile | None, *, environment: Mapping[str, str], overrides: Sequence[str]
) -> GivenSettings:
    """Return the settings; raise SettingError for an unknown key or an invalid value."""
    warnings: list[str] = []
    sources = [
        SettingSource(COMMAND_LINE, _read_overrides(overrides)),
        SettingSource(ENVIRONMENT, dict(_read_environment(environment, warnings))),
    ]
    for source in sources:
        ensure_valid(source)
    if file is not None:
        sources.append(_read_file(file))
    for source in sources:
        warnings += _warn_without_effect(source)
    return GivenSettings(tuple(sources), tuple(warnings))


def environment_name(key: str) -> str:
    """Return the name of a key in the environment."""
    return _PREFIX + key.removeprefix(_OWN).replace(".", "_").upper()


def _read_file(file: PropertiesFile) -> SettingSource:
    """Return the settings of a file, validated; the last line of a key counts."""
    if file.content.startswith(BOM_UTF8):
        raise DamagedFileError(
            "it begins with a byte order mark",
            path=file.path,
            remedy="save it without the mark: Java would read it as a part of the first key",
            position=1,
            expected="a key",
            found="EF BB BF",
        )
    try:
        entries = {each.key: each for each in read_properties(file.content)}
    except BytesError as error:
        raise DamagedFileError(
            error.what,
            path=file.path,
            remedy="correct the line",
            position=error.position,
            expected=error.expected,
            found=error.found,
        ) from error
    for line, key, text in entries.values():
        ensure_valid(SettingSource(f"{file.path}, line {line}", {key: text}))
    return SettingSource(file.path, {key: each.value for key, each in entries.items()})


def _read_overrides(overrides: Sequence[str]) -> dict[str, str]:
    texts = {}
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator or not key.strip():
            raise SettingError(
                f"{COMMAND_LINE} {override} has no value",
                key=key.strip(),
                remedy=f"write {COMMAND_LINE} key=value",
            )
        texts[key.strip()] = text.strip()
    return texts


def _read_environment(
    environment: Mapping[str, str], warnings: list[str]
) -> Iterator[tuple[str, str]]:
    for name, text in sorted(environment.items()):
        if not name.startswith(_PREFIX) or name in _OF_PACKAGE:
            continue
        plain = name.removeprefix(_PREFIX).lower().replace("_", ".")
        keys = [
            key for key in (plain, _OWN + plain) if find_setting(key) or find_ignore_reason(key)
        ]
        if keys:
            yield keys[0], text
        else:
            warnings.append(f"environment: {name} is not a setting and has no effect")


def ensure_valid(source: SettingSource) -> None:
    """Raise SettingError for an unknown key, an invalid value, or a promise of access control."""
    try:
        refuse_promised_protection(source.texts)
        ensure_known(source.texts)
        for key, text in source.texts.items():
            setting = find_setting(key)
            if setting is not None:
                setting.parse(text, given_as=key)
    except SettingError as error:
        raise SettingError(
            f"{source.name}: {error.problem}", key=error.key, remedy=error.remedy
        ) from error


def _warn_without_effect(source: SettingSource) -> Iterator[str]:
    for key in source.texts:
        reason = find_no_effect_reason(key)
        if reason is not None:
            yield f"{source.name}: setting {key} has no effect: {reason}"
