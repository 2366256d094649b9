"""Local paths among the paths and addresses of options."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.local_path import find_local_path, is_address, local_path


@pytest.mark.parametrize(
    "path", ("/logs/a", "/logs/a/", "/logs//a", "/logs/./a", "file:/logs/a", "file:///logs/a")
)
def test_equivalent_spellings_have_the_same_path(path: str) -> None:
    assert local_path(path, key="path") == "/logs/a"


def test_relative_path_becomes_absolute() -> None:
    assert local_path("logs", key="path") == f"{Path.cwd()}/logs"


def test_colon_alone_does_not_make_an_address() -> None:
    assert local_path("/a:b//c", key="path") == "/a:b/c"


@pytest.mark.parametrize(
    "path", ("s3a://bucket/logs", "hdfs://name/logs", "hdfs:/logs", "abfss://x@y/z")
)
def test_object_store_is_rejected(path: str) -> None:
    with pytest.raises(SettingError, match=r"path: .* is not a local path; mount it"):
        local_path(path, key="path")


@pytest.mark.parametrize("session", (None, "default"))
def test_relative_path_has_a_folder_in_processes_of_a_classic_session(
    monkeypatch: pytest.MonkeyPatch, session: str | None
) -> None:
    if session is None:
        monkeypatch.delenv("SPARK_JOB_ARTIFACT_UUID", raising=False)
    else:
        monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", session)

    assert local_path("logs", key="path") == f"{Path.cwd()}/logs"


def test_relative_path_is_rejected_in_processes_of_spark_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "9fbc3530-b965-466f-a70f-94dd423ea39b")

    assert local_path("/logs", key="path") == "/logs"
    with pytest.raises(SettingError, match=r"path: logs is a relative path, .*absolute path"):
        local_path("logs", key="path")


@pytest.mark.parametrize(
    ("text", "path"),
    (("a/b", "a/b"), ("file:/a", "/a"), ("file:///a", "/a"), ("s3a://b", None), ("hdfs:/a", None)),
)
def test_only_addresses_of_files_have_a_local_path(text: str, path: str | None) -> None:
    assert find_local_path(text) == path
    assert is_address(text) == (text != "a/b")
