"""Values by the schemas of their ids, in a format of the test."""

import pytest

from cordwood.core.errors import CorruptMessageError, SettingError
from cordwood.spark.formats.framed_decoder import FramedDecoder
from cordwood.spark.formats.schema_framing import HEADER_BYTES, frame_header
from cordwood.spark.formats.schema_source import AVRO, SchemaText, given_schemas


class Texts:
    """A format whose schemas are the words that a value can be."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.decoder = FramedDecoder(
            given_schemas({1: "tea jam", 2: ""}, AVRO), prepare=self._prepare, read=self._read
        )

    def _prepare(self, text: SchemaText, of: str) -> list[str]:
        self.prepared.append(of)
        if not text.text:
            raise SettingError(f"{of}: no words", key="schemas", remedy="add some")
        return text.text.split()

    def _read(self, words: list[str], value: bytes) -> str:
        word = value[HEADER_BYTES:].decode()
        if word not in words:
            raise CorruptMessageError(f"no {word}")
        return word


def test_schema_is_prepared_once() -> None:
    texts = Texts()

    found = [texts.decoder.decode(frame_header(1) + word) for word in (b"tea", b"jam")]

    assert found == [(1, "tea", None), (1, "jam", None)]
    assert texts.prepared == ["schema 1"]


@pytest.mark.parametrize(
    ("value", "found"),
    (
        (None, (None, None, None)),
        (b"?", (None, None, "no schema id (begins with 3f)")),
        (frame_header(9), (9, None, "schema 9: not among the given schemas")),
        (frame_header(2), (2, None, "schema 2: no words")),
        (frame_header(1) + b"ale", (1, None, "schema 1: no ale")),
    ),
)
def test_value_without_a_record_has_an_error(value: bytes | None, found: object) -> None:
    assert Texts().decoder.decode(value) == found
