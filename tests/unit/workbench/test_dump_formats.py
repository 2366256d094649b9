"""A dump in the format that was asked for, if there is one."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.workbench.dump_formats import FORMATS, dump_as
from tests.unit.workbench.dump_samples import LOG, batch, tools_of


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_writes_something(output_format: str) -> None:
    said = list(dump_as(output_format, tools_of({LOG: batch()}), paths=[LOG]))

    assert any(text for text, _ in said)


def test_format_that_is_none_is_refused() -> None:
    with pytest.raises(SettingError, match="no format 'csv'; choose from text"):
        dump_as("csv", tools_of({}), paths=[])


def test_columns_are_refused_for_what_has_no_records() -> None:
    with pytest.raises(SettingError, match=r"1\.index has no records"):
        dump_as("arrow", tools_of({}), paths=["1.index"])
