"""What a broker is given when it starts, from all places; what makes no sense is refused.

    --set key=value            strongest
    CORDWOOD_LOG_RETENTION_MS  log.retention.ms in the environment; dots become underscores
    server.properties          weakest

A key that nobody knows is refused, with the nearest that is known: a setting that is misspelt would
otherwise be without effect, and nobody would notice. In the environment it is warned of only, since
others put names there too. What Kafka knows and means nothing here is accepted and warned of.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cordwood.broker.settings.catalogue import declared, refuse_unknown, why_without_effect
from cordwood.broker.settings.ignored import why_ignored
from cordwood.core.errors import BytesError, DamagedFileError, SettingError
from cordwood.core.properties import read_properties
from cordwood.core.settings import Source

COMMAND_LINE: Final = "--set"
ENVIRONMENT: Final = "environment"

_PREFIX: Final = "CORDWOOD_"
_OWN: Final = "cordwood."
# Read where the package is imported, by whatever runs it.
_NOT_A_BROKER_S: Final = frozenset({"CORDWOOD_CACHE_DIR"})


@dataclass(frozen=True, slots=True)
class Given:
    """Sources, the strongest first, and what there is to be warned of."""

    sources: tuple[Source, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertiesFile:
    """A `server.properties`: where it is and what it holds."""

    path: str
    content: bytes


def read_given(
    file: PropertiesFile | None, *, environment: Mapping[str, str], overrides: Sequence[str]
) -> Given:
    """Return what was given, every key known and every value of its type; else raise."""
    warnings: list[str] = []
    sources = [
        Source(COMMAND_LINE, _read_overrides(overrides)),
        Source(ENVIRONMENT, dict(_read_environment(environment, warnings))),
    ]
    for source in sources:
        ensure_sound(source)
    if file is not None:
        sources.append(_read_file(file))
    for source in sources:
        warnings += _of_no_effect(source)
    return Given(tuple(sources), tuple(warnings))


def environment_name(key: str) -> str:
    """Return what a key is called in the environment."""
    return _PREFIX + key.removeprefix(_OWN).replace(".", "_").upper()


def _read_file(file: PropertiesFile) -> Source:
    """Return what a file gives, every line sound that counts: of a key, the last one."""
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
        ensure_sound(Source(f"{file.path}, line {line}", {key: text}))
    return Source(file.path, {key: each.value for key, each in entries.items()})


def _read_overrides(overrides: Sequence[str]) -> dict[str, str]:
    texts = {}
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator or not key.strip():
            raise SettingError(
                f"{COMMAND_LINE} {override} gives no value",
                key=key.strip(),
                remedy=f"write {COMMAND_LINE} key=value",
            )
        texts[key.strip()] = text.strip()
    return texts


def _read_environment(
    environment: Mapping[str, str], warnings: list[str]
) -> Iterator[tuple[str, str]]:
    for name, text in sorted(environment.items()):
        if not name.startswith(_PREFIX) or name in _NOT_A_BROKER_S:
            continue
        plain = name.removeprefix(_PREFIX).lower().replace("_", ".")
        keys = [key for key in (plain, _OWN + plain) if declared(key) or why_ignored(key)]
        if keys:
            yield keys[0], text
        else:
            warnings.append(f"{name} in the environment is no setting and has no effect")


def ensure_sound(source: Source) -> None:
    """Raise SettingError if a key is unknown or a value is not of its type."""
    try:
        refuse_unknown(source.texts)
        for key, text in source.texts.items():
            setting = declared(key)
            if setting is not None:
                setting.parse(text, given_as=key)
    except SettingError as error:
        raise SettingError(
            f"{source.name}: {error.problem}", key=error.key, remedy=error.remedy
        ) from error


def _of_no_effect(source: Source) -> Iterator[str]:
    for key in source.texts:
        reason = why_without_effect(key)
        if reason is not None:
            yield f"{source.name}: setting {key} has no effect: {reason}"
