"""Commands that users of Kafka's tools type, and the command here that does the same.

The keys are the names of Kafka's scripts without `kafka-` and `.sh`, and a few common guesses.
"""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

_CLOSE_ENOUGH: Final = 0.65

#: The command here, for a name that Kafka or another tool uses.
COMMANDS: Final = {
    "broker": "serve",
    "broker-api-versions": "cluster brokers",
    "brokers": "cluster brokers",
    "configure": "configs",
    "console-consumer": "consume",
    "console-producer": "produce",
    "consumer": "consume",
    "convert": "spark convert",
    "consumer-groups": "groups",
    "consumer-perf-test": "bench consume",
    "delete-records": "topics delete-records",
    "dump-log": "log dump",
    "e2e-latency": "bench latency",
    "get-offsets": "offsets",
    "group": "groups",
    "leader-election": "cluster elect-leaders",
    "list": "topics list",
    "metadata-quorum": "cluster status",
    "producer": "produce",
    "producer-perf-test": "bench produce",
    "reassign-partitions": "cluster reassign",
    "replica-verification": "cluster status",
    "run": "serve",
    "server": "serve",
    "server-start": "serve",
    "start": "serve",
    "storage": "serve",
    "topic": "topics",
    "up": "cluster up",
    "zookeeper-server-start": "cluster up",
}

_NO_ACLS: Final = (
    "ACLs are not implemented: every client may read and change everything. Restrict access by the"
    " addresses in `listeners`, or by client certificates (ssl.client.auth=required)."
)
_NO_ZOOKEEPER_SHELL: Final = "there is no shell for ZooKeeper; use the one of ZooKeeper (zkCli.sh)"
_STOP: Final = "send SIGTERM to the process of `cordwood serve`, or press Ctrl-C in its terminal"

#: The answer to a command that does not exist here in any form.
ANSWERS: Final = {
    "acl": _NO_ACLS,
    "acls": _NO_ACLS,
    "connect-distributed": "Kafka Connect is not part of Cordwood; see docs/pipelines.md",
    "connect-standalone": "Kafka Connect is not part of Cordwood; see docs/pipelines.md",
    "delegation-tokens": "delegation tokens are not implemented; use client certificates",
    "mirror-maker": "MirrorMaker is not part of Cordwood; a Spark pipeline copies topics:"
    " see docs/pipelines.md",
    "server-stop": _STOP,
    "stop": _STOP,
    "zookeeper-shell": _NO_ZOOKEEPER_SHELL,
}


def answer_unknown(typed: str, known: Collection[str]) -> str:
    """Return the error for a command that does not exist, with the command that may be meant."""
    name = typed.removesuffix(".sh").removeprefix("kafka-")
    if name in ANSWERS:
        return f"there is no command '{typed}': {ANSWERS[name]}"
    if name in COMMANDS or name in known:
        return f"there is no command '{typed}'. Did you mean 'cordwood {COMMANDS.get(name, name)}'?"
    near = get_close_matches(name, [*known, *COMMANDS], n=1, cutoff=_CLOSE_ENOUGH)
    if near:
        meant = COMMANDS.get(near[0], near[0])
        return f"there is no command '{typed}'. Did you mean 'cordwood {meant}'?"
    return f"there is no command '{typed}'. The commands are {', '.join(sorted(known))}."
