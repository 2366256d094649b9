"""Descriptions as JSON."""

import json

from cordwood.client.admin.admin_types import ConfigDescription, ConfigEntry


def test_description_is_json_and_found_by_name() -> None:
    entry = ConfigEntry(
        name="retention.ms",
        value="1",
        source="default",
        type="long",
        is_read_only=False,
        is_sensitive=False,
        documentation=None,
        synonyms=(),
    )
    described = ConfigDescription(resource_type="topic", name="t", entries={entry.name: entry})

    assert described["retention.ms"] == "1"
    assert entry.is_default
    assert json.loads(described.to_json())["entries"]["retention.ms"]["type"] == "long"
