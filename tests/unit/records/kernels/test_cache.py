"""Where compiled kernels lie, and what is never taken for warm."""

import os
from pathlib import Path

import pytest

from cordwood.records.kernels import cache


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """The user's folder and the spare one, both of them empty."""
    own, spare = tmp_path / "own", tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    return cache.folder_in(own), cache.folder_in(cache.spare_folder())


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CORDWOOD_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/somebody")


@pytest.mark.usefixtures("nameless")
@pytest.mark.parametrize(
    ("named", "expected"),
    (
        ({"CORDWOOD_CACHE_DIR": "/a", "NUMBA_CACHE_DIR": "/b", "XDG_CACHE_HOME": "/c"}, "/a"),
        ({"NUMBA_CACHE_DIR": "/b", "XDG_CACHE_HOME": "/c"}, "/b"),
        ({"CORDWOOD_CACHE_DIR": "", "XDG_CACHE_HOME": "/c"}, "/c"),
        ({}, "/somebody/.cache"),
    ),
)
def test_base_folder_is_the_first_that_is_named(
    monkeypatch: pytest.MonkeyPatch, named: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name, value in named.items():
        monkeypatch.setenv(name, value)

    assert cache.base_folder() == Path(expected)


@pytest.mark.usefixtures("nameless")
def test_base_folder_is_the_systems_own_when_that_is_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    assert cache.base_folder() == Path("/somebody/Library/Caches")


def test_fingerprint_names_the_folder() -> None:
    place = cache.folder_in(Path("/base"))

    assert place == Path(f"/base/cordwood/kernels-{cache.fingerprint()}")
    assert len(cache.fingerprint()) == 16
    assert int(cache.fingerprint(), 16) >= 0


def test_folder_is_made_in_the_first_that_can_be_written(places: tuple[Path, Path]) -> None:
    own, _ = places

    assert cache.folder() == own
    assert own.is_dir()


def test_folder_is_the_spare_one_when_the_first_cannot_be_written(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    own.parent.parent.write_bytes(b"a file, not a folder")

    assert cache.folder() == spare
    assert not cache.is_writable(own)


def test_folder_is_the_users_own_when_only_the_spare_one_is_warm(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    spare.mkdir(parents=True)
    cache.mark_ready(spare)

    assert cache.folder() == own
    assert not cache.is_warm()


def test_cache_is_warm_when_the_spare_folder_is_and_no_other_can_be_written(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    own.parent.parent.write_bytes(b"a file, not a folder")
    spare.mkdir(parents=True)

    cache.mark_ready(spare)

    assert cache.folder() == spare
    assert cache.is_warm()
    assert not cache.is_ready(own)


def test_fingerprint_changes_when_a_source_is_written_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "fill.py").write_text("one", encoding="utf-8")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))

    before = cache.fingerprint.__wrapped__()
    os.utime(tmp_path / "fill.py", ns=(1, 1))

    assert cache.fingerprint.__wrapped__() not in {before, cache.fingerprint()}


def test_folder_is_the_first_when_none_can_be_written(places: tuple[Path, Path]) -> None:
    own, _ = places
    own.parent.parent.write_bytes(b"a file")
    cache.spare_folder().write_bytes(b"a file")

    assert cache.folder() == own
    assert not cache.is_warm()


def test_cache_is_cold_when_the_folder_has_no_marker(places: tuple[Path, Path]) -> None:
    own, _ = places
    own.mkdir(parents=True)
    (own / "ready-1").write_text("torn", encoding="utf-8")

    assert not cache.is_ready(own)
    assert not cache.is_warm()


def test_marker_is_the_only_file_when_it_is_written(places: tuple[Path, Path]) -> None:
    own, _ = places
    own.mkdir(parents=True)

    cache.mark_ready(own)
    cache.mark_ready(own)

    assert [path.name for path in own.iterdir()] == ["ready"]
    assert cache.is_ready(own)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have no numbers here")
def test_cache_is_cold_when_the_folder_is_another_users(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    own, _ = places
    own.mkdir(parents=True)
    cache.mark_ready(own)
    owner = own.stat().st_uid
    monkeypatch.setattr("os.getuid", lambda: 4321)

    # What root has compiled is trusted.
    assert cache.is_ready(own) is (owner == 0)
    assert cache.is_writable(own) is (owner == 0)


def test_spare_folder_is_this_users_own(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4321, raising=False)

    assert cache.spare_folder().name == "cordwood-4321"


def test_cache_is_cold_when_the_folder_cannot_be_looked_at(tmp_path: Path) -> None:
    too_long = tmp_path / ("x" * 300)

    assert not cache.is_ready(too_long)
    assert not cache.is_writable(too_long)
