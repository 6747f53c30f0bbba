"""Fetches the cone of a milestone from a node, message by message: from its start to the parents, as long as the node's
metadata says that they belong to this milestone.

Bytes count if they hash to the requested id. They are kept even if something else fails or another node is used. That a
message belongs to an earlier milestone is an unverified claim of the node; the proof over all messages at the end
decides (etl/verification/cone_verification.py).
"""

import asyncio

from etl.archive.checks import Checks
from etl.archive.lines import milestone_line
from etl.fetch.http import NOT_THERE, UNPROVED, UNREADABLE, WRONG_ID, Fault
from etl.fetch.node import Head, Metadata, Node
from etl.sources.cone import Cone, Entry
from ledger.chrysalis import codec as chrysalis
from ledger.eras import STARDUST, Codec
from ledger.ids import message_id as id_of
from ledger.levels import BELIEVED
from ledger.reader import CodecError

GENESIS = bytes(32)
"""The id of the first message of every tangle, which no node stores."""

FAULTS_A_RUN = 8
"""Failed requests after which a run starts no further ones."""

DEPTH = 15
"""Number of earlier milestones whose messages may still be approved (below max depth in all networks)."""


class Recent:
    """The milestone of each message, for the milestones that were fetched last."""

    def __init__(self) -> None:
        self._by_milestone: dict[int, frozenset[bytes]] = {}

    def add(self, milestone_index: int, message_ids: frozenset[bytes]) -> None:
        """Adds a cone and removes those whose messages are no longer approved."""
        self._by_milestone[milestone_index] = message_ids
        for old in [each for each in self._by_milestone if each < milestone_index - DEPTH]:
            del self._by_milestone[old]

    def has(self, message_id: bytes) -> bool:
        """Whether one of the milestones references a message."""
        return any(message_id in each for each in self._by_milestone.values())


class Walk:
    """The walk through one milestone. Responses are kept from one attempt to the next."""

    def __init__(self, milestone_index: int, codec: Codec, checks: Checks, recent: Recent, at_once: int) -> None:
        self.milestone_index = milestone_index
        self.faults: list[Fault] = []
        self._codec, self._checks, self._recent = codec, checks, recent
        self._head: Head | None = None
        self._bytes: dict[bytes, bytes] = {}
        self._metadata: dict[bytes, Metadata | None] = {}
        self._in_flight = asyncio.Semaphore(at_once)
        self._edges: set[str] = set()
        self._looking_for_edge = asyncio.Lock()

    @property
    def answered(self) -> int:
        """Number of requests that succeeded."""
        return len(self._bytes) + len(self._metadata)

    @property
    def message_ids(self) -> frozenset[bytes]:
        """The messages of the cone, once the walk is complete."""
        return frozenset(each for each in self._bytes if self._is_in_cone(each))

    async def run(self, node: Node) -> bytes:
        """Fetches and verifies the line of the milestone. Raises the first Fault of `faults`; the next run continues
        from there.

        A fault does not end the other requests at once, because their responses are kept.
        """
        self.faults = []
        try:
            if self._head is None:
                self._head = await node.head(self._codec, self.milestone_index)
        except Fault as fault:
            self.faults.append(fault)
            raise
        seen = set(self._head.roots)
        async with asyncio.TaskGroup() as group:
            for root in self._head.roots:
                group.create_task(self._visit(node, root, group, seen))
        if self.faults:
            raise self.faults[0]
        try:
            return self._verified()
        except Fault as fault:
            self.faults.append(fault)
            raise

    async def _visit(self, node: Node, message_id: bytes, group: asyncio.TaskGroup, seen: set[bytes]) -> None:
        """Follows a message to its parents, unless too many requests failed in this run."""
        if message_id == GENESIS or self._recent.has(message_id):
            return
        async with self._in_flight:
            if len(self.faults) >= FAULTS_A_RUN:
                return
            try:
                parents = await self._parents(node, message_id)
            except Fault as fault:
                self.faults.append(fault)
                return
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                group.create_task(self._visit(node, parent, group, seen))

    async def _parents(self, node: Node, message_id: bytes) -> tuple[bytes, ...]:
        """Fetches a message of this milestone and returns its parents; none for other messages."""
        if message_id not in self._metadata:
            self._metadata[message_id] = await self._fetch_metadata(node, message_id)
        if not self._is_in_cone(message_id):
            return ()
        if message_id not in self._bytes:
            data = await node.raw(self._codec, message_id)
            if (derived := id_of(data)) != message_id:
                raise Fault(WRONG_ID, f"{node.url}: expected {message_id.hex()}, but the bytes hash to {derived.hex()}")
            self._bytes[message_id] = data
        return self._decode(message_id).parents

    async def _fetch_metadata(self, node: Node, message_id: bytes) -> Metadata | None:
        """The node's metadata of a message; None if the message is older than the node's history."""
        try:
            return await node.metadata(self._codec, message_id)
        except Fault as fault:
            if fault.kind != NOT_THERE:
                raise
            # Stardust's Merkle root covers all blocks; Chrysalis' covers only messages that changed the ledger.
            if self._codec is STARDUST:
                return None
            async with self._looking_for_edge:
                if node.url in self._edges or await self._is_at_edge(node):
                    self._edges.add(node.url)
                    return None
            text = f"{node.url}: {message_id.hex()} is unknown there, and so old that it was pruned it is not"
            raise Fault(UNREADABLE, text) from None

    async def _is_at_edge(self, node: Node) -> bool:
        """Whether the node no longer has one of the milestones whose messages this milestone's messages may approve."""
        for index in range(self.milestone_index - 1, max(self.milestone_index - DEPTH - 1, 0), -1):
            try:
                await node.head(self._codec, index)
            except Fault as fault:
                if fault.kind == NOT_THERE:
                    return True
                raise
        return False

    def _is_in_cone(self, message_id: bytes) -> bool:
        metadata = self._metadata.get(message_id)
        return metadata is not None and metadata.referenced_by == self.milestone_index

    def _decode(self, message_id: bytes) -> chrysalis.Message:
        try:
            found: chrysalis.Message = self._codec.decode(self._bytes[message_id])
        except CodecError as error:
            raise Fault(UNREADABLE, f"{message_id.hex()}: {error}") from error
        return found

    def _verified(self) -> bytes:
        assert self._head is not None
        cone = Cone(self.milestone_index, self._head.milestone, codec=self._codec)
        for message_id in sorted(self.message_ids):
            metadata = self._metadata[message_id]
            assert metadata is not None
            message, data = self._decode(message_id), self._bytes[message_id]
            state, conflict = metadata.inclusion_state, metadata.conflict_reason
            cone.entries.append(Entry(message_id, message, data, metadata.referenced_by, state, conflict))
        checked = self._checks.cone(self.milestone_index, cone, "")
        if checked.verified in (None, BELIEVED):
            # The bytes are correct, so the node's metadata is wrong: the end of the cone, or an inclusion state.
            self._metadata.clear()
            self._head = None
            reason = checked.rejects[0].reason if checked.rejects else "nothing proves its inclusion states"
            raise Fault(UNPROVED, f"milestone {self.milestone_index}: {reason}")
        return milestone_line(checked)
