"""Settings of the engine and of the load."""

from dataclasses import dataclass, field

from etl.engine.current import ENGINES, SPARK
from ledger.levels import FULL, SIGNED

GROUPINGS = ("", "partition", "replica_set", "none")


@dataclass(frozen=True)
class EtlSettings:
    """Settings of the engine and of the load, in addition to those of the store."""

    engine: str = field(
        default=SPARK,
        metadata={
            "help": "engine of the pipelines: `spark`; `sail`, which runs in one process and needs no Java; or `auto`: "
            "`sail` for archive files of less than 3 GiB, uncompressed, or a lake of less than 0.75 GiB, if the run "
            "allows it, else `spark`. Default without Java: `auto`"
        },
    )

    master: str = field(
        default="local[*]", metadata={"help": "Spark master: local[N], spark://host:port, yarn, k8s://…"}
    )
    lake: str = field(
        default="",
        metadata={
            "help": "directory of the lake; {network} stands for the network's name, because a lake holds one network; "
            "default: lake/ inside the SQLite store"
        },
    )
    staging: str = field(
        default="",
        metadata={
            "help": "scratch directory that driver and executors share; {network} stands for the network's name, and "
            "each network has a folder of its own in it; default: the folder that contains the lake"
        },
    )
    jars: str = field(default="", metadata={"help": "cache of resolved jars; default: in the Python environment"})
    driver_memory: str = field(default="2g", metadata={"help": "heap of the driver JVM"})
    executor_memory: str = field(default="1g", metadata={"help": "heap of each executor of a Spark cluster"})
    max_result_size: str = field(
        default="256m",
        metadata={"help": "spark.driver.maxResultSize; the driver collects only the rows of small loads"},
    )
    shuffle_partitions: int = field(
        default=0,
        metadata={
            "help": "partitions of a shuffle; 0: one in loads of seconds, one per core in analytics of a minute, else "
            "two per core"
        },
    )
    executor_python: str = field(
        default="python3",
        metadata={"help": "Python interpreter of a Spark cluster's executors; it needs only pyspark and pyarrow"},
    )
    batch_messages: int = field(
        default=20_000,
        metadata={"help": "maximum of messages per transaction in a small load; milestones are not split"},
    )
    ledger_near: int = field(
        default=10_000,
        metadata={
            "help": "maximum of milestones by which the ledger state may lag to be updated from the store instead of "
            "the lake, or half of the ledger's milestones if that is more; at most 1000 while it is at genesis; 0: "
            "always from the lake"
        },
    )
    ledger_margin: int = field(
        default=8_640,
        metadata={
            "help": "milestones (about a day) after which spent outputs may leave the list of unspent outputs; cursors "
            "of older listings become invalid"
        },
    )
    max_line_bytes: int = field(
        default=64 << 20,
        metadata={
            "help": "maximum bytes of a line of an input file, of a document over several lines, and of the blocks "
            "of a milestone in a file of raw blocks; a longer one is a reject"
        },
    )
    max_unpacked_bytes: int = field(
        default=16 << 30,
        metadata={"help": "maximum bytes of the unpacked content of a compressed input file; the rest is a reject"},
    )
    level: str = field(
        default=SIGNED,
        metadata={
            "help": "proof level of a load: `signed`, or `full`, which checks each transaction against the ledger "
            "before it; a load of few milestones reads all changes since genesis again for that"
        },
    )
    bulk_share: float = field(
        default=0.1,
        metadata={
            "help": "share of the store's messages, at least of 20,000, above which a load builds a new generation of "
            "the store"
        },
    )

    cluster_grouping: str = field(
        default="",
        metadata={
            "help": "rows of a Cassandra batch: of one `partition`, of one `replica_set`, or any (`none`); default: "
            "`replica_set` on a cluster of one node, else `partition`"
        },
    )
    cluster_batch_bytes: int = field(default=16_384, metadata={"help": "approximate bytes of a Cassandra batch"})
    cluster_concurrent_writes: int = field(default=16, metadata={"help": "concurrent Cassandra batches per Spark task"})

    def __post_init__(self) -> None:
        for name in (
            "ledger_margin",
            "cluster_batch_bytes",
            "cluster_concurrent_writes",
            "max_line_bytes",
            "max_unpacked_bytes",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if self.engine not in ENGINES:
            raise ValueError(f"engine must be {', '.join(ENGINES[:-1])} or {ENGINES[-1]}, not {self.engine!r}")
        if self.level not in (SIGNED, FULL):
            raise ValueError(f"level must be {SIGNED} or {FULL}, not {self.level!r}")
        if self.cluster_grouping not in GROUPINGS:
            expected = ", ".join(GROUPINGS[1:])
            raise ValueError(f"cluster_grouping must be {expected} or empty, not {self.cluster_grouping!r}")
