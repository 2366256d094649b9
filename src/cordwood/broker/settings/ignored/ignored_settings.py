"""Declarations of settings without an effect, grouped by the reason."""

from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

from cordwood.core.settings import Setting, SettingScope, SettingType, SettingValue


class SettingTraits(TypedDict, total=False):
    """The optional traits of a declaration, as in `Setting`."""

    default: SettingValue
    scope: SettingScope
    at_least: float
    at_most: float
    one_of: tuple[str, ...]
    is_internal: bool


@dataclass(frozen=True, slots=True)
class IgnoredSettings:
    """Settings that have no effect for one reason."""

    reason: str
    settings: tuple[Setting, ...]


def ignored(name: str, kind: SettingType, **traits: Unpack[SettingTraits]) -> Setting:
    """Return the declaration of a setting for `no_effect`, which adds the doc."""
    traits.setdefault("default", None)
    return Setting(name=name, type=kind, doc="", **traits)


def no_effect(reason: str, *settings: Setting) -> IgnoredSettings:
    """Return settings that have no effect for this reason."""
    doc = f"No effect: {reason}."
    return IgnoredSettings(reason, tuple(replace(each, doc=doc) for each in settings))
