"""Paths as they are typed, made absolute."""

from pathlib import Path

import pytest

from cordwood.cli.paths import absolute
from cordwood.core.errors import SettingError


def test_path_is_made_absolute_and_keeps_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "t-0").symlink_to("disk")
    monkeypatch.chdir(tmp_path)

    assert absolute("t-0/") == f"{tmp_path}/t-0"
    assert absolute(".") == str(tmp_path)


def test_path_goes_up_from_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("disk/deep")

    assert absolute(f"{tmp_path}/link/..") == f"{tmp_path}/disk"


def test_empty_path_is_refused() -> None:
    with pytest.raises(SettingError, match="an empty path is no place"):
        absolute("")
