"""The pipelines as ordered steps: IOTA and WORMHOLE for `permanode load`, and what `permanode rebuild` does instead.

`permanode job` lists these steps, and the jobs that run a part of a pipeline again.
"""

from typing import Any

from db.schema import protocols
from etl import iota_steps as iota
from etl.analytics.catch_up import STEPS as ANALYTICS
from etl.iota_steps import IotaRun
from etl.pipeline import Job, Step
from etl.wormhole import steps as wormhole
from etl.wormhole.steps import WormholeRun

IOTA: tuple[Step[IotaRun], ...] = (
    Step("check", "rejects a lake older than the store; reopens new milestones that miss rows", iota.check_store),
    Step("genesis", "writes the ledger's beginning into the lake", iota.put_genesis),
    Step("selection", "adds the filters of a selective store", iota.choose_messages),
    Step("decode", "reads the files, verifies their messages, writes them into the lake", iota.decode),
    Step("decide", "proves inclusion states that the sources do not state", iota.resolve_inclusion),
    Step("chain", "rejects Stardust milestones that do not name their predecessor", iota.compare_links),
    Step("tables", "commits the milestones to the lake and writes their rows to the store", iota.fill_tables),
    Step("coverage", "notes which milestones the filters cover", iota.note_coverage),
    Step("rejects", "reports the rejected lines", iota.report_rejects),
    Step("ledger", "applies complete milestones to the ledger state; hashes listings of messages", iota.advance_ledger),
    Step("analytics", "hashes all listings for their proofs; computes missing analytics", iota.prove_and_analyse),
    Step("full", "with `level = full`: verifies milestones against the ledger state", iota.verify_fully),
    Step("log", "appends complete milestones to the transparency log and signs its checkpoint", iota.append_to_log),
)
"""Files → a store of an IOTA network."""

_SELECTION = next(step for step in IOTA if step.name == "selection")

IOTA_REBUILD: tuple[Step[IotaRun], ...] = (
    _SELECTION,
    Step("fork", "rejects a lake whose milestones differ from the transparency log", iota.reject_fork),
    Step("tables", "replaces all rows of the store by those of the lake", iota.refill_tables),
    *(step for step in IOTA if step.name in ("ledger", "analytics", "full", "log")),
    Step("proofs", "writes the proofs that a selective store keeps again", iota.restore_kept_proofs),
    Step("rejects", "counts the rejects of the lake", iota.report_rejects),
)
"""Lake → a store of an IOTA network."""

IOTA_REPAIR: tuple[Step[IotaRun], ...] = (
    _SELECTION,
    Step("tables", "writes the rows of some milestones and all damaged rows again", iota.rewrite_tables),
    *IOTA_REBUILD[3:],
    Step("check", "fails if rows are still missing", iota.check_tables),
)
"""Lake → some milestones of a store of an IOTA network."""

WORMHOLE: tuple[Step[WormholeRun], ...] = (
    Step("selection", "adds the filters of a selective store", wormhole.choose),
    Step("beside", "reads the price file and the token list as a whole", wormhole.read_beside),
    Step("decode", "reads VAAs and cells, verifies them, adds them, prices and tokens to the lake", wormhole.decode),
    Step("tables", "computes the rows of all messages that the files affect and writes them", wormhole.fill_tables),
    Step("rejects", "reports the rejected lines", wormhole.report_rejects),
)
"""Files → a store of a Wormhole network."""

WORMHOLE_REBUILD: tuple[Step[WormholeRun], ...] = (
    WORMHOLE[0],
    Step("tables", "replaces all rows of the store by those of the lake", wormhole.refill_tables),
)
"""Lake → a store of a Wormhole network."""

PIPELINES: dict[str, tuple[Step[Any], ...]] = {protocols.IOTA: IOTA, protocols.WORMHOLE: WORMHOLE}
"""The steps of `permanode load` by protocol."""

JOBS: tuple[Job, ...] = (
    Job(
        "analytics",
        "every step of the analytics",
        tuple(dict.fromkeys(table.name for step in ANALYTICS for table in step.tables)),
    ),
    *(
        Job(f"analytics-{step.name}", step.meaning, tuple(table.name for table in step.tables), step.name)
        for step in ANALYTICS
    ),
)
"""What `permanode job` runs for a range of milestones."""


def find_job(name: str) -> Job:
    """Returns the job with that name. Raises ValueError for an unknown one."""
    for job in JOBS:
        if job.name == name:
            return job
    expected = ", ".join(job.name for job in JOBS)
    if any(step.name == name for steps in PIPELINES.values() for step in steps):
        raise ValueError(f"{name}: a step of `permanode load`, not a job; expected one of {expected}")
    raise ValueError(f"{name}: no job; expected one of {expected}")
