"""Options of Kafka's tools, translated to ours, or answered with their name here.

    --list, --create, ...     an option of Kafka's scripts is a command here: topics list
    --all                     answered: a log directory stands for all of its partitions
    -b x, --bootstrap-server  also accepted before the command, and before its verb
    --producer-property       accepted: another name of an option that exists here
    --batch-size              answered: a client setting here

A translated command line means the same as the one that was typed. Where that is uncertain the
option is answered, and nothing runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cordwood.cli.exit_codes import CommandLineError

#: The verbs of a family that Kafka's scripts have as options.
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "topics": ("list", "create", "describe", "alter", "delete"),
    "configs": ("describe", "alter"),
    "groups": ("list", "describe", "reset-offsets", "delete-offsets", "delete"),
    "log-dirs": ("describe",),
}

#: The commands that do what a tool of Kafka does over the network.
OF_KAFKA: Final = (
    *("topics", "configs", "groups", "offsets", "log-dirs", "transactions", "cluster"),
    *("produce", "consume", "bench"),
)

#: Options with a value that may stand before the command or its verb.
_LEADING: Final = ("--bootstrap-server", "-b", "--command-config")

_PROPERTY: Final = ("--property", "--reader-property", "--formatter-property")

#: Other names of options that exist here, for all commands or for one of them.
SAME: Final = {
    "--bootstrap-servers": "--bootstrap-server",
    "--producer-property": "--command-property",
    "--consumer-property": "--command-property",
    "--producer.config": "--command-config",
    "--consumer.config": "--command-config",
    "--producer-config": "--command-config",
    "--consumer-config": "--command-config",
}
SAME_IN: Final = {
    ("produce", "--broker-list"): "--bootstrap-server",
    ("offsets", "--broker-list"): "--bootstrap-server",
    ("bench", "--broker-list"): "--bootstrap-server",
    ("produce", "--request-required-acks"): "--acks",
    ("bench", "--messages"): "--num-records",
    ("bench", "--timeout"): "--timeout-ms",
    ("offsets", "--exclude-internal-topics"): "--exclude-internal",
}

#: Properties of Kafka's line readers and formatters that are options here.
PROPERTIES: Final = {
    ("produce", "key.separator"): "--key-separator",
    ("produce", "null.marker"): "--null-marker",
    ("consume", "key.separator"): "--key-separator",
    ("consume", "null.literal"): "--null-marker",
}
#: Properties that Kafka combines with `key.separator`, a tab by default.
_KEY_PROPERTIES: Final = ("parse.key", "print.key")
_TAB: Final = "\t"

_CLIENT_SETTINGS: Final = {
    "--batch-size": "batch.size",
    "--max-block-ms": "max.block.ms",
    "--max-memory-bytes": "buffer.memory",
    "--max-partition-memory-bytes": "batch.size",
    "--message-send-max-retries": "retries",
    "--metadata-expiry-ms": "metadata.max.age.ms",
    "--request-timeout-ms": "request.timeout.ms",
    "--retry-backoff-ms": "retry.backoff.ms",
    "--socket-buffer-size": "send.buffer.bytes",
}
_ALL_FIELDS: Final = "is called --json here, which prints all fields of a record"
_ALTERS: Final = "is another command here: cordwood configs alter --entity-type topics"
_TEXT: Final = "is not needed here: text is printed, and with --json other bytes in Base64"
_COMPLETION: Final = "is a command here: cordwood completion bash, zsh or fish prints the script"
_WHOLE_DIRECTORY: Final = "--all is not needed: a log directory stands for all of its partitions"
_ONE_TOPIC: Final = "has no counterpart here: a command reads one topic; run one for each"

#: The answer to an option that no command here has; the key may name the command, and its verb.
ANSWERS: Final = {
    "--zookeeper": "was removed from Kafka too; give --bootstrap-server",
    "--formatter": _ALL_FIELDS,
    "--key-deserializer": _TEXT,
    "--value-deserializer": _TEXT,
    "--whitelist": _ONE_TOPIC,
    "--include": _ONE_TOPIC,
    "--line-reader": "is called --json here, which reads all fields of a record",
    "--sync": "is called --command-property linger.ms=0 here",
    "--disable-rack-aware": "is called --placement textbook here",
    "--topic-id": "has no counterpart here: give the name of the topic",
    "--skip-message-on-error": "is not needed here: every record can be printed",
    "--producer-props": "is called --command-property NAME=VALUE here, once for each setting",
    "--payload-file": "has no counterpart here: `cordwood produce --file` sends lines",
    "--print-metrics": "has no counterpart here: the result has the rates, latencies and CPU time",
    "--add-acl": "has no counterpart here: ACLs are not implemented",
    "topics alter --config": _ALTERS,
    "topics alter --delete-config": _ALTERS,
    "produce --timeout": "is called --command-property linger.ms=N here",
}
#: The answer to an option that other programs have, before the command or of one family.
OF_OTHERS: Final = {
    "--install-completion": f"shell completion {_COMPLETION}",
    "--show-completion": f"shell completion {_COMPLETION}",
    "log --all": _WHOLE_DIRECTORY,
    "compact --all": _WHOLE_DIRECTORY,
}


def translate(arguments: Sequence[str]) -> list[str]:
    """Return the arguments in our spelling; raise CommandLineError with the answer to an option."""
    _refuse_of_others(arguments)
    leading, rest = _leading_options(arguments)
    if not rest or rest[0].startswith("-"):
        return list(arguments)
    family, *rest = rest
    words = _verb_first(family, rest, leading)
    if family not in OF_KAFKA or words[:1] == ["up"]:  # `cluster up` has an own --zookeeper
        return [family, *words]
    cut = words.index("--") if "--" in words else len(words)
    return [family, *_spelled(family, words[:cut]), *words[cut:]]


def _refuse_of_others(arguments: Sequence[str]) -> None:
    """Raise the answer to an option of other programs."""
    for option in (each for each in arguments[1:] if each.startswith("--")):
        answer = OF_OTHERS.get(f"{arguments[0]} {option}")
        if answer is not None:
            raise CommandLineError(answer)
    if arguments and arguments[0] in OF_OTHERS:
        raise CommandLineError(OF_OTHERS[arguments[0]])


def _leading_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off the options of the cluster that stand in front."""
    at = 0
    while at < len(words):
        if words[at] in _LEADING:
            at += 2
        elif words[at].partition("=")[0] in _LEADING and "=" in words[at]:
            at += 1
        else:
            break
    return list(words[:at]), list(words[at:])


def _verb_first(family: str, words: Sequence[str], leading: Sequence[str]) -> list[str]:
    """Return the words of a command with its verb in front, and then the leading options."""
    more, rest = _leading_options(words)
    if not rest or rest[0].startswith("-"):
        for verb in (each for each in VERBS.get(family, ()) if f"--{each}" in rest):
            rest.remove(f"--{verb}")
            rest.insert(0, verb)
            break
    at = 1 if rest and not rest[0].startswith("-") else 0
    return [*rest[:at], *leading, *more, *rest[at:]]


def _spelled(family: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command, with the options that exist here."""
    remaining = list(words)
    has_separator = any("key.separator=" in each for each in words)
    while remaining:
        word = remaining.pop(0)
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            yield word
            continue
        given = value if equals else (remaining[0] if remaining else None)
        if name in _PROPERTY and family in ("produce", "consume") and given is not None:
            if not equals:
                remaining.pop(0)
            yield from _from_property(name, family, given, has_separator=has_separator)
        elif name == "--topic" and family in ("produce", "consume") and given is not None:
            if not equals:
                remaining.pop(0)
            yield given
        else:
            _refuse_answered(name, family, next(iter(words), ""))
            yield SAME_IN.get((family, name), SAME.get(name, name)) + equals + value


def _from_property(name: str, family: str, given: str, *, has_separator: bool) -> Iterator[str]:
    """Yield the option for a property of Kafka's line readers and formatters."""
    key, _, value = given.partition("=")
    option = PROPERTIES.get((family, key))
    if option is not None:
        yield f"{option}={value}"
    elif key in _KEY_PROPERTIES:
        if value == "true" and not has_separator:
            yield f"--key-separator={_TAB}"
    elif key.startswith("print.") and value != "true":
        return
    elif key.startswith(("print.", "parse.")):
        raise CommandLineError(f"Kafka's {name} {given} {_ALL_FIELDS.replace('prints', 'has')}")
    else:
        known = ", ".join(sorted(each for verb, each in PROPERTIES if verb == family))
        raise CommandLineError(
            f"Kafka's {name} {key} has no counterpart here; known are {known}, print.key, parse.key"
            f" (a client setting is given with --command-property)"
        )


def _refuse_answered(name: str, family: str, verb: str) -> None:
    """Raise the answer to an option that no command here has."""
    answer = ANSWERS.get(f"{family} {verb} {name}") or ANSWERS.get(f"{family} {name}")
    if answer is None and name in _CLIENT_SETTINGS and family in ("produce", "consume", "bench"):
        answer = f"is called --command-property {_CLIENT_SETTINGS[name]}=N here"
    answer = answer or ANSWERS.get(name)
    if answer is not None:
        raise CommandLineError(f"Kafka's {name} {answer}")
