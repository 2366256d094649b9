"""A dump is written in the requested format."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.workbench.dump.formats import FORMATS, dump_as
from tests.unit.workbench.dump_samples import LOG, batch, dump_of


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
