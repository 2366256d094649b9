"""Keys are parsed by their encoding; a seal can be checked only with its key."""

import pytest

from cordwood.compaction.passes.key_erasure import KeyForm, is_sealed, parse_keys, seal_keys
from cordwood.core.errors import SettingError

SALT = bytes(range(16))


def test_keys_of_text_are_the_bytes_of_each_line() -> None:
    found = parse_keys(b"anna\n \xff\r\n\nbert", KeyForm.TEXT, path="keys")

    assert found == {b"anna": 1, b" \xff\r": 2, b"bert": 4}


@pytest.mark.parametrize(
    ("form", "data"), ((KeyForm.BASE64, b"AAE=\r\n\n /w==\n"), (KeyForm.HEX, b"0001\n\n FF \r\n"))
)
def test_encoded_keys_are_decoded(form: KeyForm, data: bytes) -> None:
    assert parse_keys(data, form, path="keys").keys() == {b"\x00\x01", b"\xff"}


@pytest.mark.parametrize("form", (KeyForm.BASE64, KeyForm.HEX))
def test_error_for_an_invalid_key_names_its_line(form: KeyForm) -> None:
    with pytest.raises(SettingError, match=f"keys: line 2 is not a key in {form}; .*--key-format"):
        parse_keys(b"00ff\nanna!", form, path="keys")


def test_file_without_keys_is_rejected() -> None:
    with pytest.raises(SettingError, match="keys: the file contains no key"):
        parse_keys(b"\n\n", KeyForm.TEXT, path="keys")


def test_seal_is_verified_with_its_key() -> None:
    seals = seal_keys({b"anna": 1, b"bert": 2}, salt=SALT)

    assert [sum(is_sealed(key, seal) for seal in seals) for key in (b"anna", b"carl")] == [1, 0]


def test_seals_reveal_neither_the_keys_nor_their_order() -> None:
    seals = seal_keys({b"anna": 1, b"bert": 2}, salt=SALT)

    assert list(seals) == list(seal_keys({b"bert": 2, b"anna": 1}, salt=SALT))
    assert not {b"anna".hex(), "anna"} & {part for seal in seals for part in seal.split(":")}


def test_seals_depend_on_the_salt() -> None:
    (one,), (other,) = (seal_keys({b"anna": 1}, salt=salt) for salt in (SALT, SALT[::-1]))

    assert one.partition(":")[2] != other.partition(":")[2]


def test_seal_has_the_number_of_the_records_of_its_key() -> None:
    seals = seal_keys({b"anna": 1, b"bert": 2}, salt=SALT)

    assert [count for seal, count in seals.items() if is_sealed(b"bert", seal)] == [2]
