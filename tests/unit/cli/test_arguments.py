"""Paths of the command line are made absolute, and pairs are split at the first `=`."""

from pathlib import Path

import pytest
import typer

from cordwood.cli.arguments import absolute_path, parse_pair, parse_pairs
from cordwood.core.errors import SettingError


def test_path_becomes_absolute_and_keeps_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "t-0").symlink_to("disk")
    monkeypatch.chdir(tmp_path)

    assert absolute_path("t-0/") == f"{tmp_path}/t-0"
    assert absolute_path(".") == str(tmp_path)


def test_parent_of_a_link_is_the_parent_of_its_target(tmp_path: Path) -> None:
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("disk/deep")

    assert absolute_path(f"{tmp_path}/link/..") == f"{tmp_path}/disk"


def test_empty_path_is_rejected() -> None:
    with pytest.raises(SettingError, match="path: is empty"):
        absolute_path("")


def test_address_of_an_object_store_is_rejected() -> None:
    with pytest.raises(SettingError, match="s3a://bucket/logs is not a local path; mount it"):
        absolute_path("s3a://bucket/logs")


def test_address_of_a_file_is_its_path() -> None:
    assert absolute_path("file:///logs/t-0") == "/logs/t-0"


def test_pair_is_name_and_value() -> None:
    assert parse_pair("a=b=c") == ("a", "b=c")


def test_pair_without_a_value_is_rejected() -> None:
    with pytest.raises(typer.BadParameter, match="'a' is not NAME=VALUE"):
        parse_pair("a")


def test_last_value_of_a_name_wins() -> None:
    assert parse_pairs(["a=1", "b=2", "a=3"]) == {"a": "3", "b": "2"}
    assert parse_pairs(None) == {}
