"""The cache folder of compiled kernels, and the states that never count as warm."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from cordwood.records.kernels import kernel_cache as cache


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """The user's folder and the spare one, both of them empty."""
    own, spare = tmp_path / "own", tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    return cache.folder_in(own), cache.folder_in(cache.spare_folder())


def compile_into(place: Path) -> Path:
    """Let a folder be warm with one kernel; returns where that lies."""
    with cache.generation(place) as made:
        (made / "fill.1.nbc").write_bytes(b"machine code")
    return made / "fill.1.nbc"


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
def test_base_folder_on_a_mac_is_the_cache_folder_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    assert cache.base_folder() == Path("/somebody/Library/Caches")


@pytest.mark.usefixtures("nameless")
def test_base_folder_is_the_spare_one_without_a_home_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 3_999_999)

    assert cache.base_folder() == cache.spare_folder()


def test_fingerprint_names_the_folder() -> None:
    place = cache.folder_in(Path("/base"))

    assert place == Path(f"/base/cordwood/kernels-{cache.fingerprint()}")
    assert len(cache.fingerprint()) == 16
    assert int(cache.fingerprint(), 16) >= 0


def test_folder_is_the_first_that_can_be_written(places: tuple[Path, Path]) -> None:
    own, _ = places

    assert cache.folder() == own


def test_queries_of_the_cache_create_no_files(places: tuple[Path, Path], tmp_path: Path) -> None:
    own, spare = places

    cache.folder()
    cache.is_warm()
    cache.shelf()
    assert cache.is_writable(own)
    assert cache.is_writable(spare)

    assert [path.name for path in tmp_path.rglob("*")] == ["spare"]


def test_folder_is_the_spare_one_when_the_first_cannot_be_written(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    own.parent.parent.write_bytes(b"a file, not a folder")

    assert cache.folder() == spare
    assert not cache.is_writable(own)


def test_own_folder_is_used_when_only_the_spare_folder_is_warm(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    compile_into(spare)

    assert cache.folder() == own
    assert not cache.is_warm()


def test_cache_is_warm_when_the_spare_folder_is_and_no_other_can_be_written(
    places: tuple[Path, Path],
) -> None:
    own, spare = places
    own.parent.parent.write_bytes(b"a file, not a folder")

    compile_into(spare)

    assert cache.folder() == spare
    assert cache.is_warm()
    assert not cache.is_ready(own)


def test_fingerprint_changes_when_a_source_is_written_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "compaction" / "kernels").mkdir(parents=True)
    source = tmp_path / "compaction" / "kernels" / "fill.py"
    source.write_text("one", encoding="utf-8")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "records" / "kernels" / "cache.py"))

    before = cache.fingerprint.__wrapped__()
    os.utime(source, ns=(1, 1))

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


def test_marker_is_the_only_other_file_when_it_is_written(places: tuple[Path, Path]) -> None:
    own, _ = places

    kept = compile_into(own)
    cache.mark_ready(own, kept.parent.name)

    assert {path.name for path in own.iterdir()} == {"ready", kept.parent.name}
    assert cache.is_ready(own)
    assert cache.is_sound(own)


@pytest.mark.parametrize(
    "marker", (b"", b"every kernel is compiled\n", b"generation\nx y z\n", b"a\nb\n", b"\xff")
)
def test_cache_is_cold_when_the_marker_is_none(places: tuple[Path, Path], marker: bytes) -> None:
    own, _ = places
    compile_into(own)

    (own / "ready").write_bytes(marker)

    assert not cache.is_ready(own)
    assert not cache.is_sound(own)


def test_cache_is_cold_before_compilation(places: tuple[Path, Path]) -> None:
    own, _ = places

    with cache.generation(own):
        pass

    assert not cache.is_ready(own)


def test_cache_is_cold_when_a_file_is_missing(places: tuple[Path, Path]) -> None:
    own, _ = places

    compile_into(own).unlink()

    assert not cache.is_ready(own)
    assert not cache.is_sound(own)


def test_cache_is_cold_when_a_file_is_shorter(places: tuple[Path, Path]) -> None:
    own, _ = places

    compile_into(own).write_bytes(b"machine cod")

    assert not cache.is_ready(own)


def test_cache_is_invalid_when_a_file_has_changed(places: tuple[Path, Path]) -> None:
    own, _ = places

    compile_into(own).write_bytes(bytes(12))

    assert cache.is_ready(own)
    assert not cache.is_sound(own)
    with pytest.raises(cache.ColdError, match="not what was compiled"), cache.loading(own):
        pass


def test_cache_is_cold_when_it_is_distrusted(places: tuple[Path, Path]) -> None:
    own, _ = places
    compile_into(own)

    cache.distrust(own)

    assert list(own.iterdir()) == []
    assert not cache.is_ready(own)


def test_cache_is_cold_when_a_distrusted_generation_cannot_be_removed(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    own, _ = places
    compile_into(own)
    with monkeypatch.context() as read_only:
        read_only.setattr("pathlib.Path.unlink", lambda path: path.rmdir())
        read_only.setattr("shutil.rmtree", lambda path, *, ignore_errors: None)
        cache.distrust(own)

    assert (own / "ready").exists()
    assert not cache.is_ready(own)


def test_generation_is_removed_when_it_fails(places: tuple[Path, Path]) -> None:
    own, _ = places

    with pytest.raises(FileNotFoundError), cache.generation(own) as made:
        made.joinpath("fill.1.nbc").symlink_to("nowhere")

    assert list(own.iterdir()) == []


def test_others_wait_when_a_process_compiles(places: tuple[Path, Path]) -> None:
    own, _ = places

    with cache.alone(own), (own / "turn").open("wb") as turn, pytest.raises(BlockingIOError):
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)

    with (own / "turn").open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_generation_is_removed_when_another_process_was_first(places: tuple[Path, Path]) -> None:
    own, _ = places

    with cache.generation(own) as slow:
        fast = compile_into(own)
        (slow / "fill.1.nbc").write_bytes(b"machine code, too")

    assert {path.name for path in own.iterdir()} == {"ready", fast.parent.name}
    assert cache.is_sound(own)


def test_kernel_folder_is_the_generation_in_use(places: tuple[Path, Path]) -> None:
    own, _ = places

    assert cache.shelf() == cache.KernelFolder(own)
    with cache.generation(own) as made, cache.compiling(made):
        assert cache.shelf() == cache.KernelFolder(made, must_keep=True)
        (made / "fill.1.nbc").write_bytes(b"machine code")
    assert cache.shelf() == cache.KernelFolder(made)
    with cache.loading(own):
        assert cache.shelf() == cache.KernelFolder(made, compiles=False)


def test_kernel_folder_is_none_when_no_folder_is_writable(places: tuple[Path, Path]) -> None:
    own, _ = places
    own.parent.parent.write_bytes(b"a file")
    cache.spare_folder().write_bytes(b"a file")

    assert cache.shelf() == cache.KernelFolder(None)


def test_spare_folder_is_created_private(places: tuple[Path, Path]) -> None:
    _, spare = places

    cache.make(spare)

    made = (spare, spare.parent, cache.spare_folder())
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 3


def refuses(place: Path) -> bool:
    with pytest.raises(PermissionError, match="others could write"):
        cache.make(place)
    return not cache.is_writable(place)


@pytest.mark.parametrize("mode", (0o777, 0o720, 0o1777))
def test_spare_folder_is_rejected_when_others_can_write_to_it(
    places: tuple[Path, Path], mode: int
) -> None:
    _, spare = places
    compile_into(spare)

    cache.spare_folder().chmod(mode)

    assert refuses(spare)
    assert not cache.is_ready(spare)


def test_spare_folder_is_rejected_when_it_is_a_link(
    places: tuple[Path, Path], tmp_path: Path
) -> None:
    _, spare = places
    (tmp_path / "elsewhere").mkdir(mode=0o700)

    cache.spare_folder().symlink_to(tmp_path / "elsewhere")

    assert refuses(spare)


@pytest.mark.parametrize(("mode", "is_refused"), ((0o777, True), (0o1777, False), (0o755, False)))
def test_spare_folder_is_rejected_when_others_could_replace_it(
    places: tuple[Path, Path], mode: int, *, is_refused: bool
) -> None:
    _, spare = places

    cache.spare_folder().parent.chmod(mode)

    assert cache.is_writable(spare) is not is_refused


@pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("level", (0, 1, 2))
def test_spare_folder_is_rejected_when_another_user_owns_a_parent(
    places: tuple[Path, Path], level: int
) -> None:
    _, spare = places
    compile_into(spare)

    os.chown((spare.parent, cache.spare_folder(), cache.spare_folder().parent)[level], 4321, -1)

    assert refuses(spare)
    assert not cache.is_ready(spare)


def test_folder_is_rejected_when_others_can_write_to_it(places: tuple[Path, Path]) -> None:
    own, _ = places
    compile_into(own)

    own.chmod(0o777)

    assert refuses(own)
    assert not cache.is_ready(own)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users have no numbers here")
def test_cache_is_cold_when_the_folder_is_another_users(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    own, _ = places
    compile_into(own)
    owner = own.stat().st_uid
    monkeypatch.setattr("os.getuid", lambda: 4321)

    # Root's machine code is trusted.
    assert cache.is_ready(own) is (owner == 0)
    assert cache.is_writable(own) is (owner == 0)


def test_spare_folder_is_this_users_own(
    monkeypatch: pytest.MonkeyPatch, places: tuple[Path, Path]
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4321, raising=False)

    assert cache.spare_folder().name == "cordwood-4321"


def test_cache_is_cold_when_the_folder_cannot_be_read(tmp_path: Path) -> None:
    too_long = tmp_path / ("x" * 300)

    assert not cache.is_ready(too_long)
    assert not cache.is_writable(too_long)


def test_cache_reports_compilation_for_other_processes(tmp_path: Path) -> None:
    assert not cache.is_for_others()
    with cache.compiling(tmp_path):
        assert cache.is_for_others()
