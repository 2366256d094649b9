"""A library that was cut, or built from other sources, is one message in each program.

Every program runs in a process of its own, with a copy of the package.
"""

import random
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import cordwood
from cordwood.records.kernels.kernel_library import LIBRARY as FOUND
from native.library_file import is_current
from tests.native.changed_libraries import (
    LIBRARY,
    PLACE,
    SOURCE,
    copy_package,
    cut,
    environment_of,
    rename_kernels,
)

pytestmark = pytest.mark.skipif(
    FOUND is None or sys.platform != "linux", reason="there is no library of kernels in ELF"
)

CUTS = 20
SEED = 21
PROBLEMS = {
    "cut": "the library of kernels was cut (100,000 of at least ",
    "other": "the library of kernels was built from other sources (it lacks cordwood.",
}
REMEDY = "in a checkout run make kernels, else install cordwood again"

LOG = f"logs/orders-0/{0:020}.log"
COMMANDS = (
    ("serve", "--data", "data", "--listen", "127.0.0.1:0"),
    ("log", "verify", "logs"),
    ("log", "stat", "logs"),
    ("log", "dump", "--files", LOG, "--deep-iteration"),
    ("compact", "logs/orders-0"),
)

PROGRAMS = {
    "embedded broker": "cordwood.Broker('data').start()",
    "open_log": "cordwood.open_log('logs/orders-0').arrow()",
    "decoder": "cordwood.decoder()",
    "class of the decoder": "from cordwood.records.kernels import KernelDecoder",
    "cleaner": "from cordwood.compaction.kernels import engine; engine(1 << 30)",
}
CAUGHT = """
import cordwood, pickle
from cordwood.core.errors import KernelLibraryError
try:
    {}
except KernelLibraryError as error:
    assert isinstance(error, cordwood.CordwoodError)
    print(pickle.loads(pickle.dumps(error)))
"""

FIND = """
from cordwood.records.kernels.kernel_library import FAULT, LIBRARY
print(LIBRARY is None, FAULT)
"""


@pytest.fixture(scope="module", params=sorted(PROBLEMS))
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log and a copy of the package; its name is the kind of change."""
    folder = tmp_path_factory.mktemp("changed") / str(request.param)
    library = copy_package(folder)
    cut(library) if folder.name == "cut" else rename_kernels(library)
    with (
        cordwood.Broker(folder / "logs") as broker,
        cordwood.Producer(broker.address) as producer,
    ):
        producer.send("orders", b"42 logs", key=b"oak").result()
    return folder


def run_python(
    folder: Path, *arguments: str, archive: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, with the copy of the package there or in a zip."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment_of(archive or folder),
        capture_output=True,
        text=True,
        check=False,
    )


def message_of(folder: Path) -> str:
    """Return the beginning of the message about the library in a folder."""
    return f"{folder / PLACE}: {PROBLEMS[folder.name]}"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_ends_with_one_message(changed: Path, command: tuple[str, ...]) -> None:
    done = run_python(changed, "-m", "cordwood", *command)

    (line,) = done.stderr.splitlines()
    assert line.startswith(f"cordwood: {message_of(changed)}")
    assert REMEDY in line
    assert (done.returncode, done.stdout) == (3, "")


def test_broker_makes_no_log_directory(changed: Path) -> None:
    done = run_python(changed, "-m", "cordwood", "serve", "--data", "new", "--listen", "[::1]:0")

    assert done.returncode == 3
    assert not (changed / "new").exists()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_gets_an_error_of_the_package(changed: Path, program: str) -> None:
    done = run_python(changed, "-c", CAUGHT.format(program))

    assert done.stdout.startswith(message_of(changed)), done.stderr
    assert REMEDY in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor_names_the_file_as_a_fatal_problem(changed: Path) -> None:
    done = run_python(changed, "-m", "cordwood", "doctor")

    assert f"bad: kernels: {message_of(changed)}" in done.stdout
    assert (done.returncode, done.stderr) == (1, "")


def test_fixture_serves_and_a_reader_in_the_test_fails(changed: Path) -> None:
    """The broker of the pytest plugin uses no kernels."""
    (changed / "test_orders.py").write_text(
        "import cordwood\n"
        "def test_broker(kafka):\n"
        "    kafka.create_topic('orders')\n"
        "    assert kafka.records('orders') == []\n"
        "def test_log():\n"
        "    cordwood.open_log('logs/orders-0').arrow()\n"
    )
    options = ("-p", "no:cacheprovider", "-p", "no:randomly")

    done = run_python(changed, "-m", "pytest", "-q", "-c", "/dev/null", *options, "test_orders.py")

    assert "1 failed, 1 passed" in done.stdout
    assert f"KernelLibraryError: {message_of(changed)}" in done.stdout
    assert done.returncode == 1


def test_commands_without_kernels_work(changed: Path) -> None:
    done = run_python(changed, "-m", "cordwood", "log", "dump", "--files", LOG)

    assert (done.returncode, done.stderr) == (0, "")
    assert "baseOffset: 0" in done.stdout


def test_library_in_a_zip_is_named_with_the_zip(changed: Path, tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "c"), "zip", changed, "cordwood"))

    done = run_python(tmp_path, "-c", CAUGHT.format("cordwood.decoder()"), archive=archive)

    assert done.stdout.startswith(f"{archive}/{PLACE}: {PROBLEMS[changed.name]}"), done.stderr
    assert done.stdout.endswith("; then make the zip again\n")


def cut_sizes(whole: bytes) -> list[int]:
    """Return the sizes of a library that was cut at its ends, and at random places."""
    chance = random.Random(SEED)  # the seed makes it repeatable
    return [0, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(CUTS))]


def test_library_that_was_cut_anywhere_is_words_and_never_a_signal(tmp_path: Path) -> None:
    library = copy_package(tmp_path)
    whole = library.read_bytes()

    for size in cut_sizes(whole):
        library.write_bytes(whole[:size])
        done = run_python(tmp_path, "-c", FIND)

        expected = f"True the library of kernels was cut ({size:,} of at least "
        assert done.stdout.startswith(expected), (size, done.returncode, done.stderr)


def test_library_that_was_cut_anywhere_is_words_in_a_zip(tmp_path: Path) -> None:
    whole = LIBRARY.read_bytes()
    folders = [SOURCE / "records", SOURCE / "core"]
    sources = [
        SOURCE / "__init__.py",
        *(each for folder in folders for each in folder.rglob("*.py")),
    ]

    for size in cut_sizes(whole):
        archive = tmp_path / f"{size}.zip"
        with ZipFile(archive, "w") as files:
            for source in sources:
                files.write(source, source.relative_to(SOURCE.parent))
            files.writestr(str(PLACE), whole[:size])
        done = run_python(tmp_path, "-c", FIND, archive=archive)

        expected = f"True the library of kernels was cut ({size:,} of at least "
        assert done.stdout.startswith(expected), (size, done.returncode, done.stderr)


def test_section_table_ends_the_library_as_built() -> None:
    """Each cut is then found."""
    whole = LIBRARY.read_bytes()
    table, entries = int.from_bytes(whole[40:48], "little"), int.from_bytes(whole[60:62], "little")

    assert table + entries * 64 == len(whole)


def test_build_replaces_a_library_that_was_cut(tmp_path: Path) -> None:
    """`make kernels` is the remedy, so it must not load such a file."""
    library = copy_package(tmp_path)
    was_current = is_current(library)
    cut(library)

    assert (was_current, is_current(library)) == (True, False)
