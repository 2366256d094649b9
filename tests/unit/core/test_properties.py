"""Java properties: every form of line, and round trips.

The expected values are those of `java.util.Properties`.
"""

import pytest

from cordwood.core.errors import BytesError
from cordwood.core.properties import Property, format_properties, parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "entries"),
    (
        (b"", {}),
        (b"a=1", {"a": "1"}),
        (b"a=1\nb=2\r\nc=3\rd=4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        (b"a=1\na=2\n", {"a": "2"}),
        (b" \t\f a \t = \f b c \n", {"a": "b c "}),
        (b"a:b\nc d\ne\n", {"a": "b", "c": "d", "e": ""}),
        (b"a = = b\nc == d\n", {"a": "= b", "c": "= d"}),
        (b"a  : b\n=c\n", {"a": "b", "": "c"}),
        (b"a=1\x0bb\x85c\n", {"a": "1\x0bb\x85c"}),
        (b"caf\xe9=\xfc\n", {"caf\xe9": "\xfc"}),
    ),
)
def test_line_is_a_key_a_separator_and_a_value(text: bytes, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


def test_entry_has_the_number_of_the_line_that_it_begins_on() -> None:
    text = b"# c\na=1\\\n2\n\na=3\n"

    assert [*read_properties(text)] == [Property(2, "a", "12"), Property(5, "a", "3")]


@pytest.mark.parametrize("comment", (b"# a=1", b"!a=1", b"  \t# a=1 \\", b"", b"   ", b"\f"))
def test_blank_lines_and_comments_are_skipped(comment: bytes) -> None:
    assert parse_properties(comment + b"\nb=2\n") == {"b": "2"}


@pytest.mark.parametrize(
    ("text", "entries"),
    (
        (b"a=1\\\n  2\\\r\n\t3\n", {"a": "123"}),
        (b"a\\\n=1\n", {"a": "1"}),
        (b"a=1\\\n#2\n", {"a": "1#2"}),
        (b"a=1\\\\\nb=2\n", {"a": "1\\", "b": "2"}),
        (b"a=1\\\n\nb=2\n", {"a": "1", "b": "2"}),
        (b"a=1\\", {"a": "1"}),
        (b"a=1\\\n", {"a": "1"}),
        (b"\\\n# no entry\nb=2\n", {"b": "2"}),
        (b"\\", {"": ""}),
        (b"\\\n\n", {}),
    ),
)
def test_line_continues_after_an_odd_number_of_backslashes(
    text: bytes, entries: dict[str, str]
) -> None:
    assert parse_properties(text) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    (
        (rb"a\ b\=\:=c", {"a b=:": "c"}),
        (rb"a=\t\n\r\f\\\q\=", {"a": "\t\n\r\f\\q="}),
        (rb"a=\u0041\u00e9\u20AC", {"a": "A\xe9\u20ac"}),
        (rb"a=\ud83d\udE00", {"a": "\U0001f600"}),
        (rb"a=\udE00x", {"a": "\ude00x"}),
        (rb"\#a=b", {"#a": "b"}),
    ),
)
def test_escape_is_decoded(text: bytes, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


@pytest.mark.parametrize("escape", (rb"\u", rb"\u12", rb"\u12g4", rb"\uuABCD"))
def test_error_for_an_incomplete_escape_names_its_line(escape: bytes) -> None:
    with pytest.raises(BytesError, match="four hexadecimal digits") as caught:
        parse_properties(b"a=1\n# c\nb=\\\n" + escape + b"\n")

    assert caught.value.position == 3


def test_written_text_has_comments_first_and_entries_in_order() -> None:
    text = format_properties({"node.id": "1", "a": "b"}, "written by\ncordwood \u20ac")

    assert text == b"#written by\n#cordwood \\u20AC\nnode.id=1\na=b\n"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    (
        ("a b", " c d", rb"a\ b=\ c d"),
        ("a=b:c", "d=e:f", rb"a\=b\:c=d\=e\:f"),
        ("#a", "!b", rb"\#a=\!b"),
        ("a", "\t\n\r\f\\", rb"a=\t\n\r\f\\"),
        ("caf\xe9", "\U0001f600\x01", rb"caf\u00E9=\uD83D\uDE00\u0001"),
        ("a", "\ud83d", rb"a=\uD83D"),
        ("", "", b"="),
    ),
)
def test_written_entry_is_read_again(key: str, value: str, line: bytes) -> None:
    assert format_properties({key: value}) == line + b"\n"
    assert parse_properties(line) == {key: value}
