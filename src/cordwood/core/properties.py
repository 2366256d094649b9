r"""Java `.properties` text, as in `server.properties` and `meta.properties` (Java: `Properties`).

    encoding  ISO-8859-1
    text      line*, ended by \n, \r or \r\n; blank lines and those after # or ! are skipped
    entry     key separator value; white space (blank, tab, form feed) before the key is dropped
    separator white space, or one of = and : with white space around it
    continued an odd number of \ ends a line: the next one continues it, without its leading
              white space
    escape    \t \n \r \f; \uXXXX, a UTF-16 code unit; \ and any other character is that character

The last value of a repeated key wins. A comment line cannot be continued.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from cordwood.core.errors import BytesError

_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILING_ESCAPES = re.compile(r"\\*\Z")
_ENTRY = re.compile(r"((?:\\.|[^\\ \t\f=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BLANKS: Final = " \t\f"
_BY_LETTER: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BY_CHARACTER: Final = {char: f"\\{letter}" for letter, char in _BY_LETTER.items()} | {
    char: f"\\{char}" for char in "\\=:#!"
}


class Property(NamedTuple):
    """An entry and the number of its first line."""

    line: int
    key: str
    value: str


def parse_properties(text: bytes) -> dict[str, str]:
    """Return the entries of `text`; a BytesError has the line number as its position."""
    return {each.key: each.value for each in read_properties(text)}


def read_properties(text: bytes) -> Iterator[Property]:
    """Yield every entry of `text`, including those that a later entry overrides."""
    for number, line in _logical_lines(text.decode("iso-8859-1")):
        found = _ENTRY.fullmatch(line)
        assert found is not None, "a logical line ends in whole escapes, so it has a key and a rest"
        key, value = (_unescape(part, number) for part in found.groups())
        yield Property(number, key, value)


def format_properties(values: Mapping[str, str], comment: str = "") -> bytes:
    """Return `values` as text in their order, below `comment`, each line of which gets a #."""
    lines = [f"#{_in_ascii(line)}" for line in comment.splitlines()]
    lines += [f"{_escape_key(key)}={_escape(value)}" for key, value in values.items()]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with an entry, continuations joined, with the number of the first line."""
    joined = ""
    is_continued = False
    first = 1
    for number, line in enumerate(_lines(text), 1):
        part = line.lstrip(_BLANKS)
        if not joined:
            first = number
            if not part or part[0] in "#!":
                is_continued = False
                continue
        escapes = _TRAILING_ESCAPES.search(part)
        is_continued = escapes is not None and len(escapes[0]) % 2 == 1
        joined += part[:-1] if is_continued else part
        if not is_continued:
            yield first, joined
            joined = ""
    if is_continued:
        yield first, joined


def _lines(text: str) -> list[str]:
    """Return the lines; unlike `str.splitlines`, Java does not end a line at a form feed."""
    lines = _LINE_END.split(text)
    return lines[:-1] if not lines[-1] else lines


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text

    def replaced(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape == "u":
            raise BytesError(
                "a damaged escape in a line of properties",
                position=line,
                expected="four hexadecimal digits after \\u",
                found=text[found.end() : found.end() + 4],
            )
        return _BY_LETTER.get(escape, escape)

    return _with_pairs_joined(_ESCAPE.sub(replaced, text))


def _with_pairs_joined(text: str) -> str:
    """Join UTF-16 surrogate pairs into characters; an unpaired surrogate stays."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "surrogatepass")


def _escape(text: str) -> str:
    """Escape a value; only a leading blank would be lost."""
    escaped = "".join(_BY_CHARACTER.get(char, char) for char in text)
    return _in_ascii(f"\\{escaped}" if escaped.startswith(" ") else escaped)


def _escape_key(text: str) -> str:
    """Escape a key, which would end at any blank."""
    return _in_ascii("".join(_BY_CHARACTER.get(char, char) for char in text).replace(" ", "\\ "))


def _in_ascii(text: str) -> str:
    """Write characters outside printable ASCII as UTF-16 code units."""
    return "".join(char if " " <= char <= "~" else _units(char) for char in text)


def _units(char: str) -> str:
    raw = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at : at + 2].hex().upper()}" for at in range(0, len(raw), 2))
