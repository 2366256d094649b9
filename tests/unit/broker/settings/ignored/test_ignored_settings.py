"""Tests of declarations without an effect."""

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.settings import SettingScope, SettingType


def test_declaration_says_why_it_has_no_effect() -> None:
    group = no_effect(
        "there is no tea", ignored("cups", SettingType.INT, default=2, scope=SettingScope.CLUSTER)
    )

    (cups,) = group.settings
    assert (cups.name, cups.default, cups.scope) == ("cups", 2, SettingScope.CLUSTER)
    assert (group.reason, cups.doc) == ("there is no tea", "No effect: there is no tea.")
