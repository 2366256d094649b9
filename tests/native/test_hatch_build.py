"""The build hook: wheels with kernels have a platform, all others are plain Python."""

import shutil
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from hatch_build import LIBRARY, KernelBuildHook
from native.fingerprint import ROOT
from native.targets import target_named

MANYLINUX = "x86_64-linux-gnu.2.17"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a small copy of the project, in which no choice has been made."""
    for name in ("CORDWOOD_BUILD_KERNELS", "CORDWOOD_KERNELS_TARGET"):
        monkeypatch.delenv(name, raising=False)
    for file in ("LICENSE", "README.md", "pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / file, tmp_path)
    shutil.copytree(ROOT / "native", tmp_path / "native")
    package = tmp_path / "src" / "cordwood" / "records" / "kernels"
    package.mkdir(parents=True)
    (tmp_path / "src" / "cordwood" / "__init__.py").write_text("")
    (package / "_machine.abi3.so").write_text("stale")
    return tmp_path


def compiled(monkeypatch: pytest.MonkeyPatch, *, does_work: bool) -> list[Path]:
    """Replace the compilation; return the list of the libraries that the hook wanted."""
    wanted: list[Path] = []

    def compile_library(_: KernelBuildHook, library: Path) -> bool:
        wanted.append(library)
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_text("library")
        return does_work

    monkeypatch.setattr(WheelBuilder, "get_build_hooks", _hooks)
    monkeypatch.setattr(KernelBuildHook, "_compile", compile_library)
    return wanted


def _hooks(builder: WheelBuilder, directory: str) -> dict[str, KernelBuildHook]:
    """Return the hook of this process instead of that of the copy."""
    config = builder.config.hook_config["custom"]
    found = KernelBuildHook(
        builder.root,
        config,
        builder.config,
        builder.metadata,
        directory,
        builder.PLUGIN_NAME,
        builder.app,
    )
    return {"custom": found}


def built(project: Path, version: str = "standard") -> tuple[str, list[str], str]:
    """Build a wheel; return its tag, its libraries and the text of the first one."""
    builder = WheelBuilder(str(project))
    wheel = Path(next(builder.build(directory=str(project / "dist"), versions=[version])))
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.endswith(".so")]
        text = archive.read(libraries[0]).decode() if libraries else ""
    return wheel.stem.split("-", 2)[2], libraries, text


def test_wheel_has_the_library_and_its_platform(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    wanted = compiled(monkeypatch, does_work=True)

    tag, libraries, text = built(project)

    assert wanted == [project / "src" / LIBRARY]
    assert tag == f"cp311-abi3-{target_named('').wheel_platform}"
    assert (libraries, text) == ([LIBRARY], "library")


def test_wheel_of_another_target_has_its_platform(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    wanted = compiled(monkeypatch, does_work=True)
    monkeypatch.setenv("CORDWOOD_KERNELS_TARGET", MANYLINUX)

    tag, libraries, text = built(project)

    assert wanted == [project / "build" / MANYLINUX / "_machine.abi3.so"]
    assert tag == "cp311-abi3-manylinux_2_17_x86_64"
    assert (libraries, text) == ([LIBRARY], "library")


def test_wheel_of_a_read_only_tree_has_the_library(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    wanted = compiled(monkeypatch, does_work=True)
    monkeypatch.setattr("os.access", lambda _, __: False)

    tag, libraries, text = built(project)

    assert tag.startswith("cp311-abi3-")
    assert (libraries, text) == ([LIBRARY], "library")
    assert not wanted[0].is_relative_to(project)
    assert not wanted[0].parent.exists()


def test_wheel_is_plain_with_a_warning_when_the_compilation_fails(
    monkeypatch: pytest.MonkeyPatch, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled(monkeypatch, does_work=False)

    tag, libraries, _ = built(project)

    assert (tag, libraries) == ("py3-none-any", [])
    assert capsys.readouterr().err.count("the kernels could not be compiled") == 1


def test_build_fails_when_kernels_are_required(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    compiled(monkeypatch, does_work=False)
    monkeypatch.setenv("CORDWOOD_BUILD_KERNELS", "required")

    with pytest.raises(SystemExit, match="could not be compiled"):
        built(project)


def test_wheel_is_plain_when_kernels_are_left_out(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    monkeypatch.setenv("CORDWOOD_BUILD_KERNELS", "0")

    tag, libraries, _ = built(project)

    assert (tag, libraries) == ("py3-none-any", [])
    assert not any("numba" in each for each in WheelBuilder(str(project)).config.dependencies)


def test_unknown_choice_of_kernels_is_an_error(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    """Taken for the default, `false` would compile them."""
    wanted = compiled(monkeypatch, does_work=True)
    monkeypatch.setenv("CORDWOOD_BUILD_KERNELS", "false")

    with pytest.raises(SystemExit, match="'false'; set required or 0"):
        built(project)

    assert wanted == []


def test_editable_installation_has_the_library_in_the_tree(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    wanted = compiled(monkeypatch, does_work=True)

    tag, libraries, _ = built(project, "editable")

    assert wanted == [project / "src" / LIBRARY]
    assert (tag, libraries) == ("py3-none-any", [])


@pytest.mark.parametrize(("target", "has_zig"), (("", False), (MANYLINUX, True)))
def test_zig_is_a_requirement_where_the_system_has_no_compiler_for_the_target(
    monkeypatch: pytest.MonkeyPatch, project: Path, target: str, *, has_zig: bool
) -> None:
    monkeypatch.setattr("native.c_compiler.system_compiler", lambda: ["cc"])
    monkeypatch.setenv("CORDWOOD_KERNELS_TARGET", target)

    wanted = " ".join(WheelBuilder(str(project)).config.dependencies)

    assert "numba==" in wanted
    assert ("ziglang" in wanted) is has_zig


def test_zig_is_a_requirement_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    monkeypatch.setattr("native.c_compiler.system_compiler", list)

    assert "ziglang" in " ".join(WheelBuilder(str(project)).config.dependencies)


def test_requirements_are_the_locked_versions() -> None:
    locked = (ROOT / "requirements" / "dev.txt").read_text()
    hooks = WheelBuilder(str(ROOT)).config.hook_config["custom"]

    pinned = [each for each in hooks["kernels-need"] if "==" in each]

    assert len(pinned) == 2
    assert all(f"{each} " in locked for each in pinned)
