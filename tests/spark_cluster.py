"""Runs a standalone Spark cluster, a master and its workers, from the pip package on loopback."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.etl.commands import Process

LOOPBACK = "127.0.0.1"


@contextmanager
def standalone(folder: Path, python: Path, spark: Path, *, workers: int, cores: int, memory: str) -> Iterator[str]:
    """The URL of a master during the block.

    Executors work below `folder / "work"`. `python`: the environment whose Python they run. `spark`: its package
    pyspark. `cores` and `memory` are those of a worker.
    """
    environment = {
        "PATH": f"{python / 'bin'}:{os.environ['PATH']}",
        "SPARK_HOME": str(spark),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }
    listen = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
    limits = ["--cores", str(cores), "--memory", memory, "--work-dir", str(folder / "work")]
    with ExitStack() as running:

        def started(name: str, text: str, *options: str) -> str:
            command = [str(spark / "bin" / "spark-class"), name, *listen, *options]
            process = Process(command, cwd=folder, environment=environment)
            running.callback(process.kill)
            found = process.wait_for(lambda line: text in line)
            if not found:
                raise RuntimeError(f"{name} did not start: {process.printed()}")
            return found

        line = started("org.apache.spark.deploy.master.Master", "Starting Spark master at spark://")
        url = line.rpartition(" at ")[2].strip()
        for _ in range(workers):
            started("org.apache.spark.deploy.worker.Worker", "Successfully registered with master", *limits, url)
        yield url
