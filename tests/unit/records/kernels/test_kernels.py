"""The choice between the kernels of the library and their plain twins."""

import logging
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

import cordwood
from cordwood.core.errors import KernelLibraryError
from cordwood.records import kernels
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.records.kernels import kernel_library
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.kernels.kernel_library import LIBRARY
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.records.record_checks import PlainInspector
from cordwood.records.record_encoder import PlainEncoder
from cordwood.records.record_lines import PlainLineWriter
from cordwood.records.record_lookup import PlainRecordFinder
from cordwood.records.state_scan import PlainStateScanner
from cordwood.records.tail_scan import PlainTailScanner

needs_library = pytest.mark.skipif(LIBRARY is None, reason="there is no library of kernels")


def ask(code: str) -> str:
    """Return the output of a fresh interpreter without imported kernels."""
    command = [sys.executable, "-c", f"from cordwood.records import kernels as k; {code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def _without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the library, as on a platform that has none."""
    monkeypatch.setattr(kernels, "LIBRARY", None)
    monkeypatch.setattr(kernels, "FAULT", "there is no library")
    monkeypatch.setattr(kernels, "_numbers", count())


@pytest.mark.usefixtures("_without_library")
def test_plain_twins_are_used_without_a_library() -> None:
    assert not kernels.has_kernels()
    assert isinstance(kernels.decoder(), PlainDecoder)
    assert isinstance(kernels.encoder(), PlainEncoder)
    assert isinstance(kernels.inspector(), PlainInspector)
    assert isinstance(kernels.line_writer(), PlainLineWriter)
    assert isinstance(kernels.batch_checker(), PlainBatchChecker)
    assert isinstance(kernels.state_scanner(), PlainStateScanner)
    assert isinstance(kernels.tail_scanner(1 << 40), PlainTailScanner)
    assert isinstance(kernels.record_finder(1 << 40), PlainRecordFinder)


@pytest.mark.usefixtures("_without_library")
def test_missing_library_is_a_warning_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)

    kernels.decoder()
    kernels.inspector()

    (warning,) = caplog.messages
    assert warning.startswith("kernels: there is no library; ")
    assert "plain Python" in warning
    assert "pip install --force-reinstall --no-deps --no-binary cordwood cordwood" in warning


@pytest.mark.usefixtures("_without_library")
def test_library_that_was_cut_is_an_error_and_not_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kernel_library, "IS_CUT", True)

    with pytest.raises(KernelLibraryError):
        kernels.decoder()

    assert caplog.messages == []


@needs_library
def test_kernels_are_imported_ahead_of_their_use() -> None:
    code = "k.ensure_kernels(k.BROKER_MODULES); print(*(m in sys.modules for m in loaded))"
    loaded = [f"cordwood.records.kernels.{name}" for name in kernels.BROKER_MODULES] + ["numpy"]

    assert ask(f"import sys; loaded = {loaded}; {code}") == "True True False\n"


@pytest.mark.usefixtures("_without_library")
def test_kernels_are_not_imported_without_a_library() -> None:
    kernels.ensure_kernels(["a_module_that_does_not_exist"])


@pytest.mark.usefixtures("_without_library")
def test_missing_library_is_a_warning_once_in_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread looks for kernels while the first one logs."""
    monkeypatch.delenv("CORDWOOD_KERNELS", raising=False)
    other, logged = threading.Thread(target=kernels.has_kernels), list[str]()

    def note(record: logging.LogRecord) -> bool:
        logged.append(record.getMessage())
        if len(logged) == 1:
            other.start()
            other.join()
        return False

    monkeypatch.setattr(logging.getLogger(kernels.__name__), "filters", [note])
    kernels.has_kernels()

    assert len(logged) == 1


@pytest.mark.usefixtures("_without_library")
def test_interpreted_kernels_are_not_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CORDWOOD_KERNELS", "interpreted")

    assert isinstance(kernels.decoder(), PlainDecoder)
    assert caplog.messages == []


@needs_library
def test_fast_twins_are_used_with_the_library() -> None:
    makers = "k.decoder, k.encoder, k.inspector, k.line_writer, k.batch_checker"

    said = ask(f"print(*(type(make()).__name__ for make in ({makers})))")

    assert (
        said == "KernelDecoder KernelEncoder KernelInspector KernelLineWriter KernelBatchChecker\n"
    )


@needs_library
def test_kernels_do_not_import_a_compiler() -> None:
    said = ask("import sys; k.decoder(); print(*{'numba', 'llvmlite'} & sys.modules.keys())")

    assert said == "\n"


def test_choice_of_the_decoder_does_not_import_numpy() -> None:
    assert ask("import sys; k.has_kernels(); print('numpy' in sys.modules)") == "False\n"


def test_kernels_export_the_fast_decoder() -> None:
    assert kernels.KernelDecoder is KernelDecoder


def test_kernels_have_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'SlowDecoder'"):
        kernels.SlowDecoder  # noqa: B018  # the access is what is tested


def test_no_source_of_the_package_imports_the_compiler() -> None:
    root = Path(cordwood.__file__).parent

    found = [path for path in root.rglob("*.py") if "import numba" in path.read_text("utf-8")]

    assert found == []


@needs_library
def test_scanner_is_plain_for_few_batches_and_for_fewer_with_numpy() -> None:
    code = "print(*(type(k.tail_scanner(n)).__name__[:6] for n in (10, 5_000, 10**6, 5_000)))"

    assert ask(code) == "PlainT PlainT Kernel Kernel\n"


@needs_library
def test_finder_is_plain_for_small_batches() -> None:
    code = "print(*(type(k.record_finder(size)).__name__[:6] for size in (100, 10_000)))"

    assert ask(code) == "PlainR Kernel\n"


@needs_library
def test_kernels_of_the_broker_do_not_import_numpy() -> None:
    code = "import sys; k.inspector(); k.record_finder(1 << 20); print('numpy' in sys.modules)"

    assert ask(code) == "False\n"
