"""Install commands name the version that Cordwood needs."""

from importlib import metadata

import pytest

from cordwood.core.installation import install_command


def test_command_has_the_version_of_the_extra() -> None:
    assert install_command("kazoo") == "pip install 'kazoo>=2.10'"


def test_package_that_is_in_no_extra_has_no_version() -> None:
    assert install_command("kazoo-more") == "pip install 'kazoo-more'"


def test_archive_without_metadata_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)

    assert install_command("pyspark") == "pip install 'pyspark'"
