"""Messages of commits keep the rules of CONTRIBUTING.md."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from scripts.commits import BASE, complaints, findings

ROOT: Final = Path(__file__).parents[1]
GOOD: Final = "Read the index from its end\n\nThe last entry is the one that a fetch needs.\n"
LONG: Final = "Read the index of each segment from its end, where the last entry is stored"


def commit(folder: Path, message: str) -> str:
    """Commit nothing with a message; return the commit's name."""
    author = ("-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgsign=false")
    command = ("git", *author, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", message)
    subprocess.run(command, cwd=folder, check=True)
    head = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=folder, check=True, capture_output=True, text=True
    )
    return head.stdout.strip()


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository without a commit."""
    folder = tmp_path / "history"
    subprocess.run(("git", "init", "--quiet", folder), check=True)
    return folder


@pytest.mark.parametrize(
    "message",
    (
        GOOD,
        GOOD.replace("Read", "Pass"),
        GOOD.replace("Read", "Embed"),
        f"{GOOD}\nSigned-off-by: n\n",
    ),
)
def test_valid_message_has_no_finding(message: str) -> None:
    assert list(complaints(message)) == []


@pytest.mark.parametrize(
    ("message", "complaint"),
    (
        (f"{LONG}\n\nWhy.\n", "subject of 75 characters; at most 72"),
        ("Read the index.\n\nWhy.\n", "subject ends with a full stop; leave it out"),
        ("Read it; write it\n\nWhy.\n", "subject names two concerns; make two commits"),
        ("read it\n\nWhy.\n", "subject begins with 'read'; begin with a capital letter"),
        ("Added it\n\nWhy.\n", "subject begins with 'Added'; use the imperative (Add, Fix, Name)"),
        (
            "Fixing it\n\nWhy.\n",
            "subject begins with 'Fixing'; use the imperative (Add, Fix, Name)",
        ),
        ("Reads it\n\nWhy.\n", "subject begins with 'Reads'; use the imperative (Add, Fix, Name)"),
        ("fixup! Read it\n\nWhy.\n", "subject begins with fixup!; squash the commit"),
        (
            "Read it\nWhy.\n",
            "second line is not blank; leave a blank line below the subject",
        ),
        ("Read it\n", "no body; state why the change is made"),
        ("Read it\n\nSigned-off-by: n\n", "no body; state why the change is made"),
    ),
)
def test_violated_rule_is_named(message: str, complaint: str) -> None:
    assert list(complaints(message)) == [complaint]


def test_commits_up_to_the_base_are_not_checked(history: Path) -> None:
    base = commit(history, "older work; no body")
    broken = commit(history, "added it\n\nWhy.")
    commit(history, GOOD)

    (finding,) = findings(history, base)

    assert broken.startswith(finding.partition(":")[0])


def test_merge_commits_are_exempt(history: Path) -> None:
    base = commit(history, "Begin")
    subprocess.run(("git", "branch", "other", base), cwd=history, check=True)
    commit(history, GOOD)
    subprocess.run(("git", "checkout", "--quiet", "other"), cwd=history, check=True)
    commit(history, GOOD)
    author = ("-c", "user.name=n", "-c", "user.email=n@localhost")
    merge = ("git", *author, "merge", "--quiet", "--no-ff", "-m", "merged it.", "-")
    subprocess.run(merge, cwd=history, check=True)

    assert findings(history, base) == []


def test_shallow_clone_is_checked_up_to_its_oldest_commit(history: Path, tmp_path: Path) -> None:
    base = commit(history, "older work")
    commit(history, "added it\n\nWhy.")
    commit(history, GOOD)
    shallow = tmp_path / "shallow"
    clone = ("git", "clone", "--quiet", "--depth=2", history.as_uri(), shallow)
    subprocess.run(clone, check=True)

    (finding,) = findings(shallow, base)

    assert finding.endswith("subject begins with 'added'; begin with a capital letter")


def test_history_without_the_base_has_no_findings(history: Path) -> None:
    commit(history, "older work")

    with pytest.raises(LookupError, match=f"does not contain {BASE[:7]}"):
        findings(history)


def test_commits_are_a_gate() -> None:
    gates = (ROOT / "Makefile").read_text().partition("\ngates:")[2].partition("\n\n")[0]

    assert "scripts/commits.py" in gates
