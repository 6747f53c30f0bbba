"""What a selective permanode states over HTTP: its filters, its complete milestones and their ids.

Nothing of it is proved. An audit compares the ids with records of full archives.
"""

from typing import Any

from db.intervals import Intervals, intervals
from etl.fetch.http import UNREADABLE, Fault
from etl.transparency.remote_log import RemoteLog

LOG_PATH = "/log"


class RemoteSelection:
    """A selective permanode.

    Attributes:
        filters: the number of its filters.
        milestones: its complete milestones.
    """

    def __init__(self, log: RemoteLog, filters: int, milestones: Intervals) -> None:
        self._log, self._network = log, log.url.removesuffix(LOG_PATH)
        self.filters, self.milestones = filters, milestones

    @classmethod
    def find(cls, log: RemoteLog) -> "RemoteSelection | None":
        """What the archive of this log states in its /sync; None for one with all messages, and for a file host.

        Raises Fault if the request failed.
        """
        if not log.url.endswith(LOG_PATH):
            return None
        try:
            found = log.read_json(f"{log.url.removesuffix(LOG_PATH)}/sync")
        except Fault as fault:
            if fault.is_for_good or fault.kind == UNREADABLE:
                return None
            raise
        filters, completed = found.get("kept"), found.get("completed")
        if not isinstance(filters, list) or not isinstance(completed, list):
            return None
        try:
            return cls(log, len(filters), intervals((int(each["start"]), int(each["end"]) - 1) for each in completed))
        except (KeyError, TypeError, ValueError) as error:
            raise Fault(UNREADABLE, f"{log.url}: milestones expected in /sync: {error!r}") from error

    def milestone_id(self, index: int) -> bytes:
        """The id that a record of the log has: in Chrysalis of the milestone's message, in Stardust of the milestone.

        Raises Fault if the archive does not return it.
        """
        try:
            found: Any = self._log.read_json(f"{self._network}/milestones/{index}")["data"]["messageId"]
        except Fault as fault:
            if not fault.is_for_good:
                raise
            url = f"{self._network}/explorer/v2/milestones?start={index}&end={index}&pageSize=1"
            found = self._id_in(self._log.read_json(url), index)
        except (KeyError, TypeError):
            found = None
        try:
            return bytes.fromhex(found.removeprefix("0x"))
        except (AttributeError, ValueError):
            raise Fault(UNREADABLE, f"{self._network}: the id of milestone {index} expected") from None

    @staticmethod
    def _id_in(listed: dict[str, Any], index: int) -> Any:
        try:
            (row,) = listed["items"]
            return row["milestoneId"] if row["index"] == index else None
        except (KeyError, TypeError, ValueError):
            return None
