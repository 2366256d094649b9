"""Options of a dump, and the errors for invalid ones."""

import pytest

from cordwood.core.errors import InvalidRecordError, SettingError
from cordwood.core.java_text import utf8_as_java
from cordwood.records.decoder import Selection
from cordwood.workbench.dump.coordinator_record_parser import (
    OFFSETS_PARSER,
    TRANSACTION_LOG_PARSER,
)
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpOptions,
    build_selection,
    find_decoder,
    find_record_parser,
)

TOOLS_API = "org.apache.kafka.tools.api"


@pytest.mark.parametrize("name", ("max_bytes", "max_message_size"))
def test_limits_are_not_negative(name: str) -> None:
    with pytest.raises(SettingError, match="-1 is negative"):
        DumpOptions(folder="/", **{name: -1})  # type: ignore[arg-type]  # mypy cannot see the name


def test_data_and_deep_options_select_records() -> None:
    assert DumpOptions(folder="/", has_data=True).has_records
    assert DumpOptions(folder="/", is_deep=True).has_records
    assert not DumpOptions(folder="/").has_records


def test_highest_limit_is_none() -> None:
    assert DumpOptions(folder="/").end_of(1 << 40) == 1 << 40
    assert DumpOptions(folder="/", max_bytes=10).end_of(1 << 40) == 10


def test_file_has_the_parts_of_its_name() -> None:
    file = DumpedFile("a.b/7.log", "/x/a.b/7.log")

    assert (file.stem, file.suffix, file.base_offset) == ("7", ".log", 7)
    assert file.sibling(".index") == "/x/a.b/7.index"
    assert DumpedFile("a", "/a").suffix == ""


def test_selection_of_all_records_is_none() -> None:
    assert build_selection((None, None), (None, None)) is None
    assert build_selection((3, None), (None, None)) == Selection(first_offset=3)
    assert build_selection((None, 4), (5, 6)) == Selection(
        last_offset=4, min_timestamp=5, max_timestamp=6
    )


def test_first_decoder_of_an_internal_topic_counts() -> None:
    flags = {"offsets-decoder": False, "transaction-log-decoder": True}

    assert find_record_parser(flags) is TRANSACTION_LOG_PARSER
    assert find_record_parser({**flags, "offsets-decoder": True}) is OFFSETS_PARSER
    assert find_record_parser({"offsets-decoder": False}) is None


def test_decoder_that_is_not_supported_yet_is_rejected_with_the_reason() -> None:
    with pytest.raises(
        SettingError, match=r"--cluster-metadata-decoder: is not supported yet .*KRaft"
    ):
        find_record_parser({"offsets-decoder": False, "cluster-metadata-decoder": True})


def test_kafkas_own_decoders_are_supported() -> None:
    assert find_decoder(None) is find_decoder(f"{TOOLS_API}.StringDecoder") is utf8_as_java
    assert find_decoder(f"{TOOLS_API}.IntegerDecoder")(b"\xff\xff\xff\xffmore") == b"-1"
    assert find_decoder(f"{TOOLS_API}.LongDecoder")(bytes(7) + b"\1") == b"1"


def test_number_of_too_few_bytes_is_a_fault() -> None:
    with pytest.raises(InvalidRecordError, match="too few"):
        find_decoder(f"{TOOLS_API}.IntegerDecoder")(b"\0")


def test_decoder_that_needs_java_is_rejected() -> None:
    with pytest.raises(SettingError, match=r"unknown class my\.Decoder"):
        find_decoder("my.Decoder")
