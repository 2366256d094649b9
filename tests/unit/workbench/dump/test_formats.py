"""A dump is written in the requested format."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.workbench.dump.coordinator_record_parser import OFFSETS_PARSER
from cordwood.workbench.dump.dump_options import DumpOptions
from cordwood.workbench.dump.formats import FORMATS, dump_as
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, dump_of


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_has_output(output_format: str) -> None:
    output = list(dump_as(output_format, dump_of({LOG: batch()}), paths=[LOG]))

    assert any(text for text, _ in output)


def test_unknown_format_is_rejected() -> None:
    with pytest.raises(SettingError, match="unknown format 'csv'; choose from text"):
        dump_as("csv", dump_of({}), paths=[])


def test_columnar_formats_are_rejected_for_files_without_records() -> None:
    with pytest.raises(SettingError, match=r"1\.index: contains no records"):
        dump_as("arrow", dump_of({}), paths=["1.index"])


def test_columnar_formats_are_rejected_with_a_decoder_of_an_internal_topic() -> None:
    options = DumpOptions(folder=FOLDER, has_data=True, record_parser=OFFSETS_PARSER)

    with pytest.raises(SettingError, match="parquet has no columns for decoded records"):
        dump_as("parquet", dump_of({LOG: batch()}, options), paths=[LOG])
