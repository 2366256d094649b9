"""Tests of the JSON in nodes."""

import pytest

from cordwood.cluster.zookeeper.znodes import znode_json
from cordwood.cluster.zookeeper.znodes.znode_json import decode_json, encode_json, integer
from cordwood.core.errors import DamagedFileError


@pytest.mark.parametrize(
    "data", (b"", b"{", b"[]", b"7", b"\xff", b'{"n":"x"}', b'{"n":true}', b"{}")
)
def test_unexpected_content_is_an_error_that_names_the_node(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="/a: not the content that Kafka writes there"):
        decode_json(data, lambda content: integer(content, "n"), path="/a", expected='{"n":1}')


def test_number_may_be_written_as_text() -> None:
    assert integer({"n": "12"}, "n") == integer({"n": 12}, "n") == 12
    assert integer({}, "n", default=3) == 3


def test_names_outside_of_ascii_are_not_escaped() -> None:
    assert encode_json({"rack": "é"}) == '{"rack":"é"}'.encode()


@pytest.mark.parametrize(
    ("read", "value"),
    (
        (znode_json.text, 1),
        (znode_json.objects, {}),
        (znode_json.objects, [1]),
        (znode_json.mapping, []),
    ),
)
def test_value_of_another_type_is_rejected(read: object, value: object) -> None:
    assert callable(read)
    with pytest.raises(TypeError, match="k is not"):
        read({"k": value}, "k")


@pytest.mark.parametrize("value", (None, "1", [1.5], ["1"], [True]))
def test_list_of_numbers_has_only_numbers(value: object) -> None:
    with pytest.raises(TypeError, match="not a list of numbers"):
        znode_json.integers(value)
