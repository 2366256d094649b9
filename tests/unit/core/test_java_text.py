"""Java's text, paths and map order; the expected bytes were printed by Java 17."""

import sys

import pytest

from cordwood.core.java_text import absolute_path, double_text, file_path, utf8_as_java

MARK = "\ufffd".encode()


@pytest.mark.parametrize("text", (b"", b"plain", "größer 木 🪵".encode()))
def test_text_that_is_utf8_stays_as_it_is(text: bytes) -> None:
    assert utf8_as_java(text) is text


@pytest.mark.parametrize(
    ("data", "marks"),
    (
        (b"\x80", 1),
        (b"\xc0\x80", 2),
        (b"\xc2", 1),
        (b"\xe0\x80\x80", 3),
        (b"\xe1\x80", 1),
        (b"\xe1", 1),
        (b"\xed\xa0\x80", 1),
        (b"\xf0\x80\x80\x80", 4),
        (b"\xf4\x90\x80\x80", 4),
        (b"\xf0\x9f", 1),
        (b"\xf0\x9f\x80", 1),
        (b"\xf5\x80", 2),
        (b"\xf0", 1),
        (b"\xff", 1),
    ),
)
def test_invalid_utf8_has_as_many_replacement_characters_as_in_java(
    data: bytes, marks: int
) -> None:
    assert utf8_as_java(data) == MARK * marks


@pytest.mark.parametrize(
    ("data", "shown"),
    (
        (b"\xe1\x80A", MARK + b"A"),
        (b"\xe1AA", MARK + b"AA"),
        (b"\xf0\x9fA", MARK + b"A"),
        (b"\xf0\x9f\x80A", MARK + b"A"),
    ),
)
def test_text_continues_after_a_truncated_character(data: bytes, shown: bytes) -> None:
    assert utf8_as_java(data) == shown


@pytest.mark.parametrize(
    ("text", "spelled"), (("a//b/", "a/b"), ("/", "/"), ("", ""), ("//a", "/a"), ("./a", "./a"))
)
def test_path_loses_redundant_slashes(text: str, spelled: str) -> None:
    assert file_path(text) == spelled


def test_path_is_absolute_behind_its_folder() -> None:
    assert absolute_path("/a", folder="/b") == "/a"
    assert absolute_path("../a", folder="/b/") == "/b/../a"
    assert absolute_path("", folder="/b") == "/b"


@pytest.mark.parametrize(
    ("value", "text"),
    (
        (0.0, "0.0"),
        (0.5, "0.5"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (-1.25e-5, "-1.25E-5"),
        (sys.float_info.max, "1.7976931348623157E308"),
    ),
)
def test_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert double_text(value) == text
