"""Names and sizes of the wire types."""

from struct import calcsize
from typing import get_args

import pytest

from cordwood.protocol import wire_types

FIXED = {
    name: get_args(alias)[1]
    for name, alias in vars(wire_types).items()
    if name[0].isupper()
    and len(get_args(alias)) == 2
    and isinstance(get_args(alias)[1], wire_types.FixedSizeType)
}


@pytest.mark.parametrize("name", FIXED)
def test_fixed_type_has_the_size_of_its_format(name: str) -> None:
    kind = FIXED[name]

    assert kind.size == calcsize(f">{kind.format}")
    assert kind.name == name.lower()


def test_records_default_to_null_and_other_sized_types_to_empty() -> None:
    assert [kind.default for kind in (wire_types.STRING, wire_types.BYTES, wire_types.RECORDS)] == [
        "",
        b"",
        None,
    ]
