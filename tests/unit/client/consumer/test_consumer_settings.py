"""Settings of a consumer from the arguments of its constructor."""

import pytest

from cordwood.client.consumer.consumer_settings import consumer_settings
from cordwood.core.errors import SettingError


def test_first_argument_and_group_are_settings() -> None:
    settings = consumer_settings("b:1,c:2", {}, group="billing")

    assert settings.bootstrap_servers == ("b:1", "c:2")
    assert settings.group_id == "billing"


def test_unknown_assignor_is_rejected() -> None:
    with pytest.raises(SettingError, match="nearest"):
        consumer_settings("b:1", {"partition_assignment_strategy": "nearest"}, group="billing")


def test_misspelled_group_is_rejected_with_the_argument() -> None:
    with pytest.raises(TypeError, match="did you mean group"):
        consumer_settings("b:1", {"grup": "billing"}, group=None)  # type: ignore[typeddict-unknown-key]  # the misspelled option
