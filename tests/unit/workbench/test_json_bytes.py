"""Bytes as JSON values, in both directions."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.workbench.json_bytes import Json, bytes_to_json, json_to_bytes


@pytest.mark.parametrize(
    ("data", "spelling"),
    ((b"ada", "ada"), (None, None), (b"\xff", {"base64": "/w=="}), ("ü".encode(), "ü")),
)
def test_bytes_survive_json(data: bytes | None, spelling: Json) -> None:
    assert bytes_to_json(data) == spelling
    assert json_to_bytes(spelling) == data


@pytest.mark.parametrize("spelling", (1, [], {}, {"base64": "", "more": 1}))
def test_other_json_values_are_rejected(spelling: Json) -> None:
    with pytest.raises(BytesError, match="does not represent bytes"):
        json_to_bytes(spelling)
