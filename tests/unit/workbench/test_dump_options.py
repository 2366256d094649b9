"""What may be asked of a dump, and what is refused with a remedy."""

import pytest

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.java import utf8_as_java
from cordwood.records.chunk import Selection
from cordwood.workbench.dump_options import (
    DumpedFile,
    DumpOptions,
    decoder_named,
    ensure_decoders_exist,
    selection_of,
)

TOOLS_API = "org.apache.kafka.tools.api"


@pytest.mark.parametrize("name", ("max_bytes", "max_message_size"))
def test_limits_are_not_negative(name: str) -> None:
    with pytest.raises(SettingError, match="cannot be -1"):
        DumpOptions(folder="/", **{name: -1})  # type: ignore[arg-type]  # mypy cannot see the name


def test_data_asks_for_records() -> None:
    assert DumpOptions(folder="/", has_data=True).has_records
    assert DumpOptions(folder="/", is_deep=True).has_records
    assert not DumpOptions(folder="/").has_records


def test_highest_limit_is_none() -> None:
    assert DumpOptions(folder="/").end_of(1 << 40) == 1 << 40
    assert DumpOptions(folder="/", max_bytes=10).end_of(1 << 40) == 10


def test_file_has_the_parts_of_its_name() -> None:
    file = DumpedFile("a.b/7.log", "/x/a.b/7.log")

    assert (file.stem, file.suffix, file.base_offset) == ("7", ".log", 7)
    assert file.beside(".index") == "/x/a.b/7.index"
    assert DumpedFile("a", "/a").suffix == ""


def test_selection_is_none_when_nothing_is_left_out() -> None:
    assert selection_of((None, None), (None, None)) is None
    assert selection_of((3, None), (None, None)) == Selection(first_offset=3)
    assert selection_of((None, 4), (5, 6)) == Selection(
        last_offset=4, min_timestamp=5, max_timestamp=6
    )


def test_decoders_of_internal_topics_are_refused_with_what_is_missing() -> None:
    ensure_decoders_exist({"offsets-decoder": False})

    with pytest.raises(SettingError, match=r"--offsets-decoder is not there yet: .* coordination"):
        ensure_decoders_exist({"offsets-decoder": True})


def test_kafkas_own_decoders_are_known() -> None:
    assert decoder_named(None) is decoder_named(f"{TOOLS_API}.StringDecoder") is utf8_as_java
    assert decoder_named(f"{TOOLS_API}.IntegerDecoder")(b"\xff\xff\xff\xffmore") == b"-1"
    assert decoder_named(f"{TOOLS_API}.LongDecoder")(bytes(7) + b"\1") == b"1"


def test_number_of_too_few_bytes_is_a_fault() -> None:
    with pytest.raises(InvalidRecordError, match="too few"):
        decoder_named(f"{TOOLS_API}.IntegerDecoder")(b"\0")


def test_decoder_that_needs_java_is_refused() -> None:
    with pytest.raises(SettingError, match=r"no decoder my\.Decoder"):
        decoder_named("my.Decoder")
