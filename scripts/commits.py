"""The rules for commit messages (`CONTRIBUTING.md`), checked on the commits since `BASE`.

    python scripts/commits.py          findings, one a line; the status is 1 if there are any

A subject has at most 72 characters, is imperative and names one concern. A body states the reason.
Merge commits are exempt. A shallow clone is checked as far as it goes. Without git, or in a history
that does not contain `BASE`, there is nothing to check, and the output states so.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: The last commit that does not have to obey.
BASE = "4a31083b19c81fe34bc7c7bf514cfa4105fc59ba"
#: Commits that were published with a fault: history is not rewritten.
PUBLISHED = frozenset(["2453cc956566188789fb0117f16c548da2881644"])
SUBJECT_CHARACTERS = 72
#: Imperatives that look like another form of a verb.
IMPERATIVES = frozenset(
    [
        "alias",
        "bias",
        "bring",
        "embed",
        "exceed",
        "feed",
        "focus",
        "need",
        "ping",
        "proceed",
        "seed",
        "shed",
        "speed",
        "spread",
        "string",
        "succeed",
        "swing",
        "wing",
        "wed",
    ]
)
TRAILER = re.compile(r"(Signed-off-by|Co-authored-by|Reviewed-by|Fixes|Refs|See-also): ")


def complaints(message: str) -> Iterator[str]:
    """Yield the rules that a message breaks."""
    subject, *rest = message.rstrip().splitlines() or [""]
    if len(subject) > SUBJECT_CHARACTERS:
        yield f"subject of {len(subject)} characters; at most {SUBJECT_CHARACTERS}"
    if subject.endswith("."):
        yield "subject ends with a full stop; leave it out"
    if ";" in subject:
        yield "subject names two concerns; make two commits"
    yield from _complaints_of_first_word(subject.partition(" ")[0])
    if rest and rest[0]:
        yield "second line is not blank; leave a blank line below the subject"
    if not any(line.strip() and not TRAILER.match(line) for line in rest):
        yield "no body; state why the change is made"


def _complaints_of_first_word(word: str) -> Iterator[str]:
    if word.startswith(("fixup!", "squash!", "amend!")):
        yield f"subject begins with {word}; squash the commit"
    elif not word[:1].isupper():
        yield f"subject begins with '{word}'; begin with a capital letter"
    elif word.lower() not in IMPERATIVES and re.search(r"(ed|ing|[^s]s)$", word):
        yield f"subject begins with '{word}'; use the imperative (Add, Fix, Name)"


def findings(root: Path, base: str = BASE) -> list[str]:
    """Return the findings of each commit of HEAD since the base, the newest commit first."""
    since = _since(root, base)
    log = _git(root, "log", "--no-merges", "--format=%H%x00%B%x01", since)
    commits = (each.strip().partition("\0") for each in log.split("\1") if each.strip())
    return [
        f"{name[:8]}: {each}"
        for name, _, message in commits
        if name not in PUBLISHED
        for each in complaints(message)
    ]


def _since(root: Path, base: str) -> str:
    """Return the range of commits to check.

    A shallow clone that does not reach the base has newer commits only.
    """
    if _has(root, base):
        return f"{base}..HEAD"
    if _git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        return "HEAD"
    raise LookupError(f"the history does not contain {base[:7]}")


def _has(root: Path, commit: str) -> bool:
    command = ("git", "merge-base", "--is-ancestor", commit, "HEAD")
    return subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", *arguments), cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LookupError(done.stderr.strip())
    return done.stdout


def main() -> int:
    """Print the findings."""
    try:
        found = findings(Path(__file__).parent.parent)
    except (LookupError, FileNotFoundError) as error:
        sys.stdout.write(f"commits: not checked ({error})\n")
        return 0
    for each in found:
        sys.stdout.write(f"{each}\n")
    sys.stdout.write(f"commits: {len(found)} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
