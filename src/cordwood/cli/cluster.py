"""`cordwood cluster`: run one on this machine; show and change leaders and replicas of any."""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.replica_moves import moves_of, under_replicated
from cordwood.cli.row_output import Row, print_rows
from cordwood.cli.terminal import print_message, print_output
from cordwood.core.counts import counted

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import (
        ClusterDescription,
        PartitionDescription,
        PartitionReassignment,
    )
    from cordwood.client.blocking import Admin
    from cordwood.core.errors import KafkaError
    from cordwood.core.types import TopicPartition

app = typer.Typer(
    help="Run a cluster on this machine; show and change leaders and replicas.",
    no_args_is_help=True,
)

Brokers = Annotated[int, typer.Option(min=1, max=100, help="Number of brokers.")]
Data = Annotated[str, typer.Option(metavar="DIR", help="Folder with a folder for each process.")]
BasePort = Annotated[
    int, typer.Option(min=0, max=65_535, help="Port of the first broker; 0 stands for free ports.")
]
ZooKeeper = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Running ZooKeeper.  [default: one is started]"),
]
ZooKeeperPort = Annotated[
    int, typer.Option(min=0, max=65_535, help="Port of the ZooKeeper that is started; 0 is free.")
]
OnlyTopic = Annotated[str | None, typer.Option("--topic", help="Topic name.  [default: all]")]
OnlyPartition = Annotated[
    int | None, typer.Option("--partition", min=0, help="Partition number.  [default: all]")
]
Replicas = Annotated[
    str | None,
    typer.Option(metavar="ID,ID", help="Brokers that get the replicas; the first is preferred."),
]
LogDirs = Annotated[
    str | None,
    typer.Option(
        metavar="DIR,DIR",
        help="Log directory of each replica, in their order; `any` leaves it to the broker.",
    ),
]
LogDirsThrottle = Annotated[
    int | None,
    typer.Option(
        "--replica-alter-log-dirs-throttle",
        min=0,
        metavar="BYTES",
        help="Bytes per second that each broker copies between directories.  [default: no limit]",
    ),
]
Throttle = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="BYTES",
        help="Bytes per second that each broker sends and receives for moves.  [default: no limit]",
    ),
]
Additional = Annotated[
    bool, typer.Option("--additional", help="Begin although other moves are in progress.")
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Print whether the moves have ended; if so, remove throttles."),
]
Cancel = Annotated[
    bool, typer.Option("--cancel", help="Cancel the moves in progress, and remove throttles.")
]
PreserveThrottles = Annotated[
    bool, typer.Option("--preserve-throttles", help="Remove no throttle.")
]


_ANY_LOG_DIR: Final = "any"


class Choice(Enum):
    """Kafka's names of the elections."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


Election = Annotated[
    Choice,
    typer.Option(
        "--election-type",
        help="`preferred`: the first replica. `unclean`: any one, which may lose records.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set one setting of all brokers. Repeatable."),
]


@app.command()
def up(  # tidy: allow[parameters] the options of a command
    *,
    brokers: Brokers = 3,
    data: Data = "cordwood-cluster",
    base_port: BasePort = 9092,
    zookeeper: ZooKeeper = None,
    zookeeper_port: ZooKeeperPort = 2181,
    settings: Settings = None,
) -> None:
    """Run brokers and ZooKeeper as processes of this machine, until Ctrl-C.

    Each process has a folder with its data and its log. A broker that ends is reported, and the
    others continue. ZooKeeper needs Java 17, and the jars of pyspark or of Debian's package.

    Example: cordwood cluster up --brokers 3 --data cluster
    """
    from cordwood.cli import cluster_up_run  # noqa: PLC0415  # help needs none of it

    cluster_up_run.run(
        cluster_up_run.ClusterOptions(
            brokers=brokers,
            data=data,
            base_port=base_port,
            zookeeper=zookeeper,
            zookeeper_port=zookeeper_port,
            settings=tuple(settings or ()),
        )
    )


@app.command()
def brokers(
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the brokers, with the number of partitions that they lead and have."""
    with connect_admin(bootstrap_server, command_config) as admin:
        cluster = admin.describe_cluster()
        topics = admin.describe_topics(admin.list_topics(with_internal=True))
    partitions = [each for topic in topics for each in topic.partitions]
    print_rows(_broker_rows(cluster, partitions), as_json=as_json)


@app.command()
def status(
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the cluster, and the partitions without a leader or with replicas out of sync.

    Partitions without a leader are first. The replicas that a move adds may be out of sync. The
    exit code is 1 if there are such partitions.
    """
    with connect_admin(bootstrap_server, command_config) as admin:
        cluster = admin.describe_cluster()
        topics = admin.describe_topics(admin.list_topics(with_internal=True))
        moves = moves_of(admin)
    late = [(topic, each) for topic in topics for each in under_replicated(topic, moves)]
    partitions = [each for topic in topics for each in topic.partitions]
    status = _status_row(cluster, partitions, under_replicated=len(late))
    print_rows([status], as_json=as_json)
    leaderless = [(topic, each) for topic in topics for each in topic.partitions if each.leader < 0]
    troubles: list[Row] = [
        {
            "Topic": topic.name,
            "Partition": each.partition,
            "Leader": each.leader if each.leader >= 0 else None,
            "Replicas": _numbers(each.replicas),
            "Isr": _numbers(each.in_sync),
        }
        for topic, each in (*leaderless, *(each for each in late if each[1].leader >= 0))
    ]
    if troubles:
        print_rows(troubles, as_json=as_json)
        raise typer.Exit(1)


@app.command("elect-leaders")
def elect_leaders(
    *,
    election: Election = Choice.PREFERRED,
    topic: OnlyTopic = None,
    partition: OnlyPartition = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Elect leaders: of one partition, of a topic, or of all partitions.

    Prints the partitions with another leader. The exit code is 1 if an election has failed.
    """
    from cordwood.client.admin.leadership_administration import (  # noqa: PLC0415  # as above
        ElectionType,
    )

    with connect_admin(bootstrap_server, command_config) as admin:
        wanted = _wanted(admin, topic, partition=partition)
        before = _leaders(admin, topic)
        errors = admin.elect_leaders(wanted, election=ElectionType[election.name])
        after = _leaders(admin, topic)
    changed = {name: leader for name, leader in after.items() if leader != before.get(name, -1)}
    for name, leader in changed.items():
        print_output(f"{name}: {_led_by(leader)}, before: {_led_by(before.get(name, -1))}")
    if not changed:
        print_message("no partition has another leader than before")
    _print_outcomes({name: error for name, error in errors.items() if error is not None}, done="")


@app.command()
def reassign(  # noqa: PLR0913  # tidy: allow[parameters] the options of a command
    *,
    topic: OnlyTopic = None,
    partition: OnlyPartition = None,
    replicas: Replicas = None,
    log_dirs: LogDirs = None,
    throttle: Throttle = None,
    log_dirs_throttle: LogDirsThrottle = None,
    is_additional: Additional = False,
    is_verified: Verify = False,
    is_cancelled: Cancel = False,
    preserve_throttles: PreserveThrottles = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Move partitions to other brokers, verify or cancel moves, or print those in progress.

    Without `--replicas`, `--verify` and `--cancel`, the moves in progress are printed. A throttle
    stays until `--verify` finds that all moves have ended, or until `--cancel`.
    Example: cordwood cluster reassign --topic orders --replicas 2,3,1 --throttle 10000000
    """
    from cordwood.cli import cluster_reassign_run as moves  # noqa: PLC0415  # as above

    if is_verified and is_cancelled:
        raise typer.BadParameter("give one of --verify and --cancel", param_hint="--verify")
    _ensure_moves_of_limits(replicas, throttle, log_dirs_throttle)
    with connect_admin(bootstrap_server, command_config) as admin:
        if replicas is None and not (is_verified or is_cancelled):
            print_rows(_reassignment_rows(admin.list_reassignments()), as_json=as_json)
            return
        wanted = _wanted(admin, topic, partition=partition)
        if wanted is None and replicas is not None:
            raise typer.BadParameter(
                "give the topic, and perhaps the partition", param_hint="--topic"
            )
        if wanted is None:
            wanted = moves.moved(admin) if is_verified else moves.moving(admin)
        target = None if replicas is None else parse_replicas(replicas)
        if is_verified:
            if not wanted:
                print_message("no partition moves")
            rows = moves.verify(admin, wanted, target=target, preserve_throttles=preserve_throttles)
            print_rows(rows, as_json=as_json)
            if any(each["State"] != moves.COMPLETE for each in rows):
                raise typer.Exit(1)
        elif is_cancelled:
            errors = moves.cancel(admin, wanted, preserve_throttles=preserve_throttles)
            if not errors:
                print_message("no partition moves")
            _print_outcomes(errors, done="the move is cancelled")
        else:
            assert target is not None, "the replicas were given"
            options = moves.MoveOptions(
                throttle,
                is_additional=is_additional,
                log_dirs=parse_log_dirs(log_dirs, target),
                log_dirs_throttle=log_dirs_throttle,
            )
            errors = moves.execute(admin, dict.fromkeys(wanted, target), options=options)
            _print_outcomes(errors, done="the move has begun")


def _ensure_moves_of_limits(replicas: str | None, *limits: int | None) -> None:
    """Reject limits of moves without a move."""
    if replicas is None and any(each is not None for each in limits):
        raise typer.BadParameter(
            "give --replicas too; with --additional it changes the limit of a move",
            param_hint="--throttle",
        )


def parse_replicas(text: str) -> list[int]:
    """Return broker ids, separated by commas; the first one is the preferred leader."""
    ids = text.split(",")
    if not all(each.strip().isdigit() for each in ids):
        raise typer.BadParameter("broker ids, separated by commas", param_hint="--replicas")
    return [int(each) for each in ids]


def parse_log_dirs(text: str | None, replicas: list[int]) -> dict[int, str]:
    """Return the log directories that replicas must have, by broker."""
    if text is None:
        return {}
    paths = [each.strip() for each in text.split(",")]
    if len(paths) != len(replicas):
        raise typer.BadParameter("a directory or `any` for each replica", param_hint="--log-dirs")
    return {
        broker: path for broker, path in zip(replicas, paths, strict=True) if path != _ANY_LOG_DIR
    }


def _wanted(
    admin: "Admin", topic: str | None, *, partition: int | None
) -> list[tuple[str, int]] | None:
    """Return the partitions of the options; None for all of the cluster."""
    if topic is None:
        if partition is not None:
            raise typer.BadParameter("give the topic of the partition", param_hint="--topic")
        return None
    ensure_topics(admin, [topic])
    (description,) = admin.describe_topics([topic])
    numbers = [each.partition for each in description.partitions]
    if partition is None:
        return [(topic, each) for each in numbers]
    if partition not in numbers:
        raise typer.BadParameter(
            f"topic {topic!r} has {counted(len(numbers), 'partition')}, which begin at 0",
            param_hint="--partition",
        )
    return [(topic, partition)]


def _leaders(admin: "Admin", topic: str | None) -> dict[str, int]:
    """Return the leaders of a topic's partitions, or of all partitions."""
    topics = admin.list_topics(with_internal=True) if topic is None else [topic]
    return {
        f"{found.name}-{each.partition}": each.leader
        for found in admin.describe_topics(topics)
        for each in found.partitions
    }


def _led_by(leader: int) -> str:
    return "no leader" if leader < 0 else f"broker {leader} leads"


def _print_outcomes(errors: "dict[TopicPartition, KafkaError | None]", *, done: str) -> None:
    """Print what was done, and the errors; exit with 1 if there are any."""
    from cordwood.core.errors import ElectionNotNeededError  # noqa: PLC0415  # as above

    failed = False
    for name, error in errors.items():
        if error is None:
            print_output(f"{name}: {done}")
        elif not isinstance(error, ElectionNotNeededError):
            failed = True
            print_message(f"cordwood: {error}")
    if failed:
        raise typer.Exit(1)


def _reassignment_rows(found: "dict[TopicPartition, PartitionReassignment]") -> list[Row]:
    return [
        {
            "Topic": name.topic,
            "Partition": name.partition,
            "Replicas": _numbers(each.replicas),
            "Adding": _numbers(each.adding),
            "Removing": _numbers(each.removing),
        }
        for name, each in found.items()
    ]


def _status_row(
    cluster: "ClusterDescription",
    partitions: "list[PartitionDescription]",
    *,
    under_replicated: int,
) -> Row:
    return {
        "ClusterId": cluster.cluster_id,
        "Controller": cluster.controller_id if cluster.controller_id >= 0 else None,
        "Brokers": len(cluster.brokers),
        "Partitions": len(partitions),
        "Leaderless": sum(each.leader < 0 for each in partitions),
        "UnderReplicated": under_replicated,
    }


def _broker_rows(
    cluster: "ClusterDescription", partitions: "list[PartitionDescription]"
) -> list[Row]:
    return [
        {
            "Broker": broker.node_id,
            "Address": f"{broker.host}:{broker.port}",
            "Rack": broker.rack,
            "Controller": "yes" if broker.node_id == cluster.controller_id else "no",
            "Leaders": sum(each.leader == broker.node_id for each in partitions),
            "Replicas": sum(broker.node_id in each.replicas for each in partitions),
            "InSync": sum(broker.node_id in each.in_sync for each in partitions),
        }
        for broker in sorted(cluster.brokers, key=lambda each: each.node_id)
    ]


def _numbers(broker_ids: tuple[int, ...]) -> str:
    return ",".join(map(str, broker_ids))
