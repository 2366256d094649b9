"""`cordwood cluster`: run one on this machine, and show the brokers and partitions of any."""

from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, connect_admin
from cordwood.cli.row_output import Row, print_rows

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import ClusterDescription, PartitionDescription

app = typer.Typer(
    help="Run a cluster on this machine; show brokers and partitions.", no_args_is_help=True
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

    The exit code is 1 if there are such partitions.
    """
    with connect_admin(bootstrap_server, command_config) as admin:
        cluster = admin.describe_cluster()
        topics = admin.describe_topics(admin.list_topics(with_internal=True))
    partitions = [each for topic in topics for each in topic.partitions]
    print_rows([_status_row(cluster, partitions)], as_json=as_json)
    troubles: list[Row] = [
        {
            "Topic": topic.name,
            "Partition": each.partition,
            "Leader": each.leader if each.leader >= 0 else None,
            "Replicas": _numbers(each.replicas),
            "Isr": _numbers(each.in_sync),
        }
        for topic in topics
        for each in topic.partitions
        if each.leader < 0 or len(each.in_sync) < len(each.replicas)
    ]
    if troubles:
        print_rows(troubles, as_json=as_json)
        raise typer.Exit(1)


def _status_row(cluster: "ClusterDescription", partitions: "list[PartitionDescription]") -> Row:
    return {
        "ClusterId": cluster.cluster_id,
        "Controller": cluster.controller_id if cluster.controller_id >= 0 else None,
        "Brokers": len(cluster.brokers),
        "Partitions": len(partitions),
        "Leaderless": sum(each.leader < 0 for each in partitions),
        "UnderReplicated": sum(len(each.in_sync) < len(each.replicas) for each in partitions),
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
