"""The choice of a decoder, and the compilation of kernels ahead of their use."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cordwood
from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.kernels import kernel_cache
from cordwood.records.kernels.__main__ import parts
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.kernels.kernel_library import LIBRARY
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.records.record_checks import PlainInspector
from cordwood.records.record_lines import PlainLineWriter
from cordwood.records.record_lookup import PlainRecordFinder
from cordwood.records.state_scan import PlainStateScanner
from cordwood.records.tail_scan import PlainTailScanner

#: The first test compiles for all: fifteen seconds of a processor that may be busy.
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(LIBRARY is not None, reason="the library serves, not the cache"),
]

#: Prints the chosen decoder, and the number of compiled functions.
ASK = """
from numba.core.event import install_recorder
from cordwood.records import kernels
from cordwood.records.decoder import ReadRequest
with install_recorder("numba:compile") as seen:
    decoder = kernels.decoder()
assert list(decoder.decode(b"", ReadRequest())) == []
print(type(decoder).__name__, len(seen.buffer))
"""

#: Lets every attempt to write into the cache fail, as on a medium that is read-only.
READ_ONLY = """
import os, sys
def refuse(event, arguments):
    is_change = event in {"os.mkdir", "os.rename", "os.remove", "os.chmod"}
    if is_change or event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        if str(arguments[0]).startswith(os.environ["CORDWOOD_CACHE_DIR"]):
            os._exit(3)
sys.dont_write_bytecode = True
sys.addaudithook(refuse)
"""


def ask(code: str = ASK) -> str:
    """Return the output of a fresh interpreter without imported kernels."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=200).stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warm cache: a copy of the user's, which `make` fills before tests, or a compiled one."""
    base = tmp_path_factory.mktemp("compiled")
    said: list[str] = []
    users = kernel_cache.folder()
    if is_user_warm := kernel_cache.is_sound(users):
        shutil.copytree(users, kernel_cache.folder_in(base))
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("NUMBA_DISABLE_JIT", raising=False)
        environment.setenv("CORDWOOD_CACHE_DIR", str(base))
        kernels.warm(said.append)
        first = said.copy()
        kernels.warm(said.append)
        place = kernel_cache.folder()

    assert said == first
    assert is_user_warm or f"compiling kernels once into {place}" in said[0]
    return base


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Caches in which nothing has been compiled; returns the first of them."""
    (tmp_path / "spare").mkdir()
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spare"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    return tmp_path / "own"


@pytest.fixture
def warm(compiled: Path, cold: Path) -> Path:
    """The same once all is compiled; returns the folder that has the marker."""
    shutil.copytree(compiled, cold)
    return kernel_cache.folder()


def pretend_ready(place: Path) -> Path:
    """Let a folder be warm to all appearances; returns its one kernel."""
    with kernel_cache.generation(place) as made:
        (made / "chunk_fill.1.nbc").write_bytes(b"machine code")
    return made / "chunk_fill.1.nbc"


def break_numba(monkeypatch: pytest.MonkeyPatch, folder: Path, *, does: str) -> None:
    """Let a child process find a numba that does something else when it is imported."""
    folder.mkdir()
    (folder / "numba.py").write_text(does, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def test_decoder_is_plain_when_kernels_are_not_compiled(cold: Path) -> None:
    assert not kernels.is_warm()
    assert isinstance(kernels.decoder(), PlainDecoder)
    assert isinstance(kernels.inspector(), PlainInspector)
    assert isinstance(kernels.line_writer(), PlainLineWriter)
    assert isinstance(kernels.batch_checker(), PlainBatchChecker)
    assert isinstance(kernels.state_scanner(), PlainStateScanner)


def test_decoder_is_fast_when_all_is_compiled(warm: Path) -> None:
    assert kernels.is_warm()
    assert ask() == "KernelDecoder 0\n"


def test_everything_is_fast_when_all_is_compiled(warm: Path) -> None:
    said = ask(
        "from cordwood.records import kernels as k\n"
        "made = (k.inspector, k.line_writer, k.batch_checker, k.state_scanner)\n"
        "print(*(type(one()).__name__ for one in made))"
    )

    assert said == "KernelInspector KernelLineWriter KernelBatchChecker KernelStateScanner\n"


def test_choice_of_the_decoder_writes_no_files_when_kernels_are_compiled(warm: Path) -> None:
    assert ask(READ_ONLY + ASK) == "KernelDecoder 0\n"


@pytest.mark.parametrize("pattern", ("*/chunk_fill.*.nbc", "*/header_scan.*.nbi", "generation-*"))
def test_decoder_is_plain_when_files_were_cleaned_away(warm: Path, pattern: str) -> None:
    (found,) = warm.glob(pattern)

    shutil.rmtree(found) if found.is_dir() else found.unlink()

    assert not kernels.is_warm()
    assert ask() == "PlainDecoder 0\n"


@pytest.mark.parametrize("pattern", ("*/chunk_fill.*.nbc", "*/header_scan.*.nbi"))
@pytest.mark.parametrize("kept", (0, 100, 1000))
def test_decoder_is_plain_when_a_file_is_damaged(warm: Path, pattern: str, kept: int) -> None:
    (found,) = warm.glob(pattern)
    whole = found.read_bytes()

    found.write_bytes(whole[:kept] + bytes(len(whole) - kept))

    assert kernels.is_warm()
    assert ask() == "PlainDecoder 0\n"
    assert not kernels.is_warm()


def test_decoder_is_plain_when_a_kernel_was_never_compiled(warm: Path) -> None:
    (made,) = warm.glob("generation-*")
    for path in made.glob("header_scan.*"):
        path.unlink()
    kernel_cache.mark_ready(warm, made.name)

    assert kernels.is_warm()
    assert ask() == "PlainDecoder 0\n"
    assert not kernels.is_warm()


@pytest.mark.parametrize(
    ("setting", "is_warm"),
    (("1", False), ("2", False), (" 1 ", False), ("0", True), ("", True), ("no", True)),
)
def test_decoder_is_plain_when_the_jit_is_off(
    monkeypatch: pytest.MonkeyPatch, cold: Path, setting: str, *, is_warm: bool
) -> None:
    pretend_ready(kernel_cache.folder())

    monkeypatch.setenv("NUMBA_DISABLE_JIT", setting)

    assert kernels.is_warm() is is_warm
    assert is_warm or isinstance(kernels.decoder(), PlainDecoder)


def test_choice_of_the_decoder_does_not_import_numba(warm: Path) -> None:
    code = "import sys; from cordwood.records import kernels; print(kernels.is_warm(), end=' ')"

    assert ask(f"{code}; print('numba' in sys.modules)") == "True False\n"


def test_warm_reports_no_progress_when_kernels_are_compiled(cold: Path) -> None:
    said: list[str] = []
    pretend_ready(kernel_cache.folder())

    kernels.warm(said.append)

    assert said == []


def test_warm_compiles_no_kernels_when_the_jit_is_off(
    monkeypatch: pytest.MonkeyPatch, cold: Path
) -> None:
    said: list[str] = []
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")

    kernels.warm(said.append)

    assert "NUMBA_DISABLE_JIT is set" in "".join(said)
    assert not cold.exists()


def test_warm_recompiles_damaged_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: Path
) -> None:
    said: list[str] = []
    break_numba(monkeypatch, tmp_path / "modules", does="raise ImportError('compiling')")
    pretend_ready(kernel_cache.folder()).write_bytes(bytes(12))

    with pytest.raises(KafkaStorageError, match="compiling"):
        kernels.warm(said.append)

    assert not kernels.is_warm()
    assert not list(kernel_cache.folder().glob("generation-*"))


@pytest.mark.parametrize(
    ("does", "reason"),
    (
        ("raise ImportError('a broken numba')", "status 1\n.*ImportError: a broken numba"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("raise SystemExit(0)", "is not there"),
    ),
)
def test_warm_reports_the_failure_of_the_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: Path, *, does: str, reason: str
) -> None:
    break_numba(monkeypatch, tmp_path / "modules", does=does)

    with pytest.raises(KafkaStorageError, match=f"(?s)plain decoder goes on serving: .*{reason}"):
        kernels.warm(str)

    assert not kernels.is_warm()


def test_warm_fails_when_the_interpreter_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, cold: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(cold / "python"))

    with pytest.raises(KafkaStorageError, match="cannot be started"):
        kernels.warm(str)


def test_warm_warns_when_the_folder_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cold: Path
) -> None:
    said: list[str] = []
    cold.write_bytes(b"a file, not a folder")
    break_numba(monkeypatch, tmp_path / "modules", does="raise ImportError")

    with pytest.raises(KafkaStorageError):
        kernels.warm(said.append)

    warning, progress = said
    assert f"cannot write to {cold}" in warning
    assert "CORDWOOD_CACHE_DIR" in warning
    assert str(tmp_path / "spare") in warning
    assert str(tmp_path / "spare") in progress


def test_kernels_export_the_fast_decoder() -> None:
    assert kernels.KernelDecoder is KernelDecoder


def test_kernels_have_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'SlowDecoder'"):
        kernels.SlowDecoder  # noqa: B018  # the access is what is tested


def test_parts_name_every_module_with_kernels_once() -> None:
    root = Path(cordwood.__file__).parent
    found = [
        f"cordwood.{source.relative_to(root).with_suffix('').as_posix().replace('/', '.')}"
        for source in root.glob("**/kernels/*.py")
        if "@kernel(" in source.read_text("utf-8")
    ]

    own, others = parts()

    assert sorted(own + others) == sorted(found)


def test_modules_of_kernels_have_names_that_their_files_in_the_cache_can_share() -> None:
    own, others = parts()

    names = [module.rpartition(".")[2] for module in own + others]
    assert len(set(names)) == len(names)


def test_scanner_is_plain_for_few_batches(warm: Path) -> None:
    assert isinstance(kernels.tail_scanner(10), PlainTailScanner)


def test_scanner_uses_kernels_for_fewer_batches_once_they_are_loaded(warm: Path) -> None:
    said = ask(
        "from cordwood.records import kernels\n"
        "print(*(type(kernels.tail_scanner(count)).__name__ for count in (50_000, 10**6, 50_000)))"
    )

    assert said == "PlainTailScanner KernelTailScanner KernelTailScanner\n"


def test_scanner_is_plain_when_the_kernels_are_cold(cold: Path) -> None:
    assert isinstance(kernels.tail_scanner(1_000_000), PlainTailScanner)


def test_finder_is_plain_for_small_batches_until_the_kernels_are_loaded(warm: Path) -> None:
    said = ask(
        "from cordwood.records import kernels\n"
        "sizes = 10_000, 100_000, 10_000, 100\n"
        "print(*(type(kernels.record_finder(size)).__name__[:6] for size in sizes))"
    )

    assert said == "PlainR Kernel Kernel PlainR\n"


def test_finder_is_plain_when_the_kernels_are_cold(cold: Path) -> None:
    assert isinstance(kernels.record_finder(1_000_000), PlainRecordFinder)


def test_small_reads_do_not_wait_for_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    def warm(_: Callable[[str], object]) -> None:
        raise AssertionError("nobody should wait")

    monkeypatch.setattr(kernels, "warm", warm)

    kernels.warm_for(kernels.WORTH_BYTES - 1)


def test_failure_to_compile_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warm(_: Callable[[str], object]) -> None:
        raise KafkaStorageError("no compiler")

    monkeypatch.setattr(kernels, "warm", warm)

    kernels.warm_for(kernels.WORTH_BYTES)

    assert capsys.readouterr().err == "cordwood: no compiler\n"
