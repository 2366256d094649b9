"""Bytes survive JSON."""

import pytest

from cordwood.core.errors import BytesError
from cordwood.workbench.spelling import Json, spelled, unspelled


@pytest.mark.parametrize(
    ("data", "spelling"),
    ((b"ada", "ada"), (None, None), (b"\xff", {"base64": "/w=="}), ("ü".encode(), "ü")),
)
def test_bytes_are_spelled_and_read_again(data: bytes | None, spelling: Json) -> None:
    assert spelled(data) == spelling
    assert unspelled(spelling) == data


@pytest.mark.parametrize("spelling", (1, [], {}, {"base64": "", "more": 1}))
def test_what_is_no_spelling_is_refused(spelling: Json) -> None:
    with pytest.raises(BytesError, match="misspelled"):
        unspelled(spelling)
