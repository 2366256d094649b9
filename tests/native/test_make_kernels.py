"""The program that makes a library: its table, its parts, and the same bytes each time."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cordwood.records.kernels.kernel_definition import (
    INT,
    NOTHING,
    SLABS,
    SOURCE,
    TABLE,
    WORDS,
    several,
)
from native import fingerprint
from native.c_compiler import compiler_for, makes_libraries, system_compiler
from native.library_table import TableRow, row_of, table_code
from native.make_kernels import parts
from native.targets import LEVELS, UNKNOWN_PROCESSOR, Target, target_named
from tests.native.samples import SAMPLES

X86_LEVELS = (b"x86-64-v2", b"x86-64-v3")
needs_zig = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="the wheel ziglang is not installed"
)
COMPILER = """\
#!/bin/sh
echo "$@" > "$0.called"
exit 1
"""


def written(first: int, second: int) -> int:
    return first + second


def test_library_has_the_kernels_of_its_modules(sample_library: ModuleType) -> None:
    names = {"loads", "stores", "copies", "arithmetic", "checksum", "measured", "sized", "waited"}
    names.add("divided")

    assert set(sample_library.KERNELS) == {f"{SAMPLES}.{name}" for name in names}


def test_library_has_the_fingerprint_of_the_tree(sample_library: ModuleType) -> None:
    assert fingerprint.fingerprint() == sample_library.FINGERPRINT


def test_library_names_a_level_of_its_processor(sample_library: ModuleType) -> None:
    assert sample_library.LEVEL in {level.name for levels in LEVELS.values() for level in levels}


def test_parts_are_the_modules_with_kernels() -> None:
    first, second = parts()

    with_kernels = {
        ".".join(source.relative_to(fingerprint.SOURCES).with_suffix("").parts)
        for source in fingerprint.kernel_sources()
        if "\n@kernel(" in source.read_text(encoding="utf-8")
    }
    assert set(first) | set(second) == with_kernels
    assert not set(first) & set(second)


def test_fingerprint_covers_kernels_build_and_constants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = tmp_path / "src" / "cordwood"
    kernel, build = sources / "records" / "kernels" / "scan.py", tmp_path / "native" / "machine.c"
    for file in (kernel, build):
        file.parent.mkdir(parents=True)
    format_ = sources / "records" / "batch_format.py"
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    monkeypatch.setattr(fingerprint, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(fingerprint, "HERE", tmp_path / "native")
    seen = []

    for code, size, other in ((1, 2, 3), (9, 2, 3), (1, 9, 3), (1, 2, 9)):
        kernel.write_text("from cordwood.records.batch_format import SIZE\n")
        build.write_text(f"/* {code} */")
        format_.write_text(f"SIZE = {size}\nOTHER = {other}\n")
        fingerprint._definitions.cache_clear()  # noqa: SLF001  # the sources have changed
        seen.append(fingerprint.fingerprint())

    assert len(set(seen)) == 3
    assert seen[0] == seen[3]  # OTHER is not imported


def test_row_has_the_letters_of_its_function() -> None:
    row = row_of(written, several(2), (SLABS, SOURCE, TABLE, INT))
    sized = row_of(written, INT, (WORDS.of(12), TABLE.of(3), INT))

    assert row == (f"{__name__}.written", "(bb)rti", 2)
    assert (row.words, row.buffers) == (4 + 2 + 3 + 1, 4)
    assert (sized.arguments, sized.words, sized.buffers) == ("q12t3i", 2 + 3 + 1, 2)
    assert row_of(written, NOTHING, ()).results == 0
    assert row_of(written, INT, ()).results == 1


def test_table_has_an_entry_for_each_level() -> None:
    levels = LEVELS["x86_64"]

    code = table_code([TableRow("a.b", "ri", 1)], levels, fingerprint="f00d")

    assert '{"a.b", "ri", 1, {x86_64_v2_a_b, x86_64_v3_a_b}}' in code
    assert '#define FINGERPRINT "f00d"' in code
    assert "MOST_WORDS = 3" in code


@pytest.mark.parametrize(
    ("name", "triple"),
    (
        ("x86_64-linux-gnu.2.17", "x86_64-unknown-linux-gnu"),
        ("aarch64-linux-musl", "aarch64-unknown-linux-musl"),
        ("aarch64-macos", "arm64-apple-macosx11.0"),
    ),
)
def test_named_target_is_compiled_by_zig(name: str, triple: str) -> None:
    target = target_named(name)

    assert (target.triple, target.zig_name) == (triple, name)
    assert compiler_for(target)[-2:] == ["-target", name]


def test_target_without_a_name_is_this_machine() -> None:
    target = target_named("")

    assert not target.is_foreign
    assert target.processor in LEVELS


@pytest.mark.parametrize("name", ("sparc-linux", "x86_64"))
def test_unknown_target_is_rejected(name: str) -> None:
    with pytest.raises(SystemExit, match="is not a target"):
        target_named(name)


def test_compiler_that_fails_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nowhere")
    monkeypatch.delenv("CC", raising=False)

    assert not makes_libraries([str(compiler)])
    assert system_compiler() == []
    assert compiler_for(Target("x86_64"))[1:] == ["-m", "ziglang", "cc"]


def test_library_is_the_same_when_it_is_made_again(sample_file: Path, tmp_path: Path) -> None:
    """Settings of numba in the environment have no effect."""
    again = tmp_path / "again" / "_machine.abi3.so"
    command = [sys.executable, "-m", "native.make_kernels", str(again), "--modules", SAMPLES]

    subprocess.run(
        command,
        cwd=fingerprint.ROOT,
        check=True,
        env=os.environ | {"PYTHONPATH": str(fingerprint.ROOT), "NUMBA_OPT": "0"},
    )

    assert again.read_bytes() == sample_file.read_bytes()
    assert [file.name for file in again.parent.iterdir()] == [again.name]


def test_processor_without_levels_has_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "sparc64")

    with pytest.raises(SystemExit) as ended:
        target_named("")

    assert ended.value.code == UNKNOWN_PROCESSOR
    assert "sparc64" in capsys.readouterr().err


OUTSIDE = """
import sys
from pathlib import Path
from native.library_file import load_library
load_library(Path(sys.argv[1])).KERNELS["{module}.loads"](bytes(1000), 1000)
"""


@needs_zig
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc has the library of the sanitizer")
def test_sanitizer_ends_a_process_that_reads_outside_of_an_array(tmp_path: Path) -> None:
    library = tmp_path / "_machine.abi3.so"
    command = [sys.executable, "-m", "native.make_kernels", str(library), "--modules", SAMPLES]
    subprocess.run([*command, "--sanitize"], cwd=fingerprint.ROOT, check=True)
    found = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    environment = os.environ | {
        "LD_PRELOAD": found,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
    }

    code = OUTSIDE.format(module=SAMPLES)
    ended = subprocess.run(
        [sys.executable, "-c", code, str(library)],
        cwd=fingerprint.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in ended.stderr


@needs_zig
@pytest.mark.parametrize(
    ("target", "machine", "levels"),
    (("aarch64-linux-gnu.2.17", 183, (b"armv8",)), ("x86_64-linux-musl", 62, X86_LEVELS)),
)
def test_library_for_another_target_has_its_machine_and_table(
    tmp_path: Path, target: str, machine: int, levels: tuple[bytes, ...]
) -> None:
    library = tmp_path / "_machine.abi3.so"
    command = [sys.executable, "-m", "native.make_kernels", str(library), "--target", target]

    subprocess.run([*command, "--modules", SAMPLES], cwd=fingerprint.ROOT, check=True)

    data = library.read_bytes()
    assert data[:4] == b"\x7fELF"
    assert int.from_bytes(data[18:20], "little") == machine
    assert all(level + b"\0" in data for level in levels)
    assert f"{SAMPLES}.checksum\0".encode() in data
    assert fingerprint.fingerprint().encode() in data
