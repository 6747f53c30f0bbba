"""What loads note in a store about themselves: the newest one that ended, one that has not ended, and how many rejects
the store has.
"""

import json
from dataclasses import asdict, dataclass

from db import schema
from db.store import Store

ENDED, BEGUN, REJECTS = "load", "load_begun", "rejects"
"""Keys of keyspace_info: the newest load that ended, as JSON; when a load began that has not ended, in seconds since
1970; the number of rejects in the store after the newest load.
"""


@dataclass(frozen=True, slots=True)
class EndedLoad:
    """The result of a load or of a rebuild.

    Attributes:
        run: its id.
        began_at: when it began, in seconds since 1970.
        ended_at: when it ended, in seconds since 1970.
        exit_code: its exit code: 1 if it ended with an error.
        milestones: the milestones that it wrote; 0 in a Wormhole network.
        messages: the messages that it wrote.
        rejects: the rejects that it wrote.
    """

    run: str
    began_at: float
    ended_at: float
    exit_code: int
    milestones: int
    messages: int
    rejects: int

    @property
    def seconds(self) -> float:
        """Its duration, including the start of the engine."""
        return round(self.ended_at - self.began_at, 3)

    @property
    def has_failed(self) -> bool:
        """Whether it ended with an error."""
        return self.exit_code == 1

    def text(self) -> str:
        """The value in keyspace_info."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Loads:
    """What the store knows about its loads; each is None if no load of this version noted it.

    Attributes:
        ended: the newest load that ended. Those of a follower count, too.
        begun_at: when the load began that runs now, or that was killed, in seconds since 1970; else None.
        rejects: the number of rejects in the store.
    """

    ended: EndedLoad | None
    begun_at: float | None
    rejects: int | None


async def find_loads(store: Store) -> Loads:
    """Reads three rows."""
    ended, begun, rejects = await store.get_many(schema.keyspace_info, [(ENDED,), (BEGUN,), (REJECTS,)])
    return Loads(
        None if ended is None else EndedLoad(**json.loads(ended["value"])),
        None if begun is None else float(begun["value"]),
        None if rejects is None else int(rejects["value"]),
    )
