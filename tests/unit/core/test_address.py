"""Addresses: parsing and formatting."""

import pytest

from cordwood.core.address import Address
from cordwood.core.errors import SettingError


@pytest.mark.parametrize("text", ("127.0.0.1:9092", "broker.example:1", "[::1]:65535"))
def test_address_is_written_as_it_was_read(text: str) -> None:
    assert str(Address.parse(text, key="k")) == text


@pytest.mark.parametrize(
    "text",
    ("", "host", "host:", ":9092", "host:0", "host:65536", "host:x", f"{'h' * 70}:1", "a..b:1"),
)
def test_address_without_host_or_port_is_rejected(text: str) -> None:
    with pytest.raises(SettingError, match=r"k: invalid address .* give host:port"):
        Address.parse(text, key="k")


def test_port_0_is_valid_only_for_a_listener() -> None:
    assert Address.parse("host:0", key="k", lowest_port=0) == Address("host", 0)
