"""Which messages a load keeps, and what its store then covers (docs/decisions/0044-selective-permanode.md)."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from db.connect import StoreSettings
from db.coverage import KEPT, Coverage, format_coverage
from db.intervals import Intervals, add, in_words, intersect, subtract
from db.schema import keyspace_info, ledger_frontier
from etl.engine.settings import EtlSettings
from etl.lake.coverage import read_coverage, reject_unfinished_purge, write_coverage
from etl.lake.delta import Lake
from etl.lake.watch_list import add_watched
from etl.lake.watched_outputs import find_watched_in_file
from etl.ledger_state.advance import Ledger
from etl.verification.coordinators import find_coordinator
from etl.writers.publish import Publication
from ledger.levels import FULL
from ledger.selection import ADDRESS, parse_filters

log = logging.getLogger("permanode")


def choose(publication: Publication, keep: Sequence[str]) -> Coverage | None:
    """Returns what a selective store keeps, with the filters `keep` added to those of its lake. None: all messages.

    New filters are written into lake and store, covering nothing yet. Raises ValueError for an invalid filter, a store
    or lake that keeps all messages, an unfinished purge, unknown keys of the coordinator, and for what needs all
    messages.
    """
    lake = publication.lake
    reject_unfinished_purge(lake)
    held = read_coverage(lake)
    if held is None and not keep:
        return None
    if held is None:
        _reject_whole(publication, lake)
    coverage = chosen_for(publication, keep) if keep else {}
    coverage = {**coverage, **(held or {})}
    _reject_settings(publication.store_settings, publication.settings, lake)
    if held is None or coverage.keys() != held.keys():
        if addresses_of(coverage) - addresses_of(held or {}) and publication.reads.ledger_index() is not None:
            # The state of an address begins with the genesis. Before the filter is written, because a load that finds
            # it written keeps the frontier.
            with publication.store.batch() as batch:
                batch.delete(ledger_frontier, (publication.reads.network,))
        coverage = watch_genesis(lake, coverage)
        write_coverage(lake, coverage)
    note(publication, coverage)
    return coverage


def watch_genesis(lake: Lake, coverage: Coverage) -> Coverage:
    """Watches the genesis outputs of the selected addresses. Returns what the filters cover then."""
    addresses = addresses_of(coverage)
    if addresses and lake.has("genesis"):
        for file in lake.local_files("genesis"):
            coverage = add_watched(lake, coverage, find_watched_in_file(file, addresses), [])
    return coverage


def note_late(publication: Publication, before: Coverage, coverage: Coverage) -> None:
    """Notes and reports the milestones that filters do not cover any more (etl.lake.watch_list.add_watched)."""
    lost = reduce(add, (subtract(milestones, coverage[each]) for each, milestones in before.items()), Intervals())
    if lost:
        note(publication, coverage)
        log.warning(
            "outputs of the selected addresses are now known that the milestones %s may spend: load the files of these "
            "milestones again",
            in_words(lost),
        )


def chosen_for(publication: Publication, keep: Sequence[str]) -> Coverage:
    """Returns these filters, which cover nothing yet. Raises ValueError for an invalid filter, unknown keys of the
    coordinator, and for what needs all messages.
    """
    _reject_settings(publication.store_settings, publication.settings, publication.lake)
    filters = parse_filters(keep, publication.store_settings.known_network().bech32_hrp)
    return {each: [] for each in filters}


def extend(publication: Publication, coverage: Coverage, decoded: Intervals) -> Coverage:
    """Returns the coverage with those of the decoded milestones that became complete. Writes it into lake and store."""
    covered = intersect(decoded, publication.reads.complete())
    extended = {each: add(milestones, covered) for each, milestones in coverage.items()}
    if extended != coverage:
        write_coverage(publication.lake, extended)
        note(publication, extended)
    return extended


def advance_selected(publication: Publication, coverage: Coverage) -> None:
    """Applies the milestones that all selected addresses cover to the ledger state of these addresses."""
    covered = [milestones for each, milestones in coverage.items() if each.kind == ADDRESS]
    if covered:
        owners = replace(publication, owners=addresses_of(coverage))
        Ledger(owners, within=reduce(intersect, covered)).advance()


def addresses_of(coverage: Coverage) -> frozenset[bytes]:
    """The selected addresses."""
    return frozenset(each.value for each in coverage if each.kind == ADDRESS)


def note(publication: Publication, coverage: Coverage) -> None:
    """Writes what servers read."""
    text = format_coverage(coverage)
    if publication.reads.info(KEPT) != text:
        with publication.store.batch() as batch:
            batch.upsert(keyspace_info, keyspace_info.names, [(KEPT, text)])


def _reject_whole(publication: Publication, lake: Lake) -> None:
    if lake.exists() or publication.reads.held().complete or publication.reads.ledger_index() is not None:
        raise ValueError(
            "--keep: this store or its lake has all messages of its milestones, or the ledger state of all addresses. "
            "Load a selection into a store and a lake of their own"
        )


def _reject_settings(store: StoreSettings, settings: EtlSettings, lake: Lake) -> None:
    if settings.level == FULL:
        raise ValueError("level full: not of a selective store, because it needs the outputs that all messages spend")
    if not lake.is_local:
        raise ValueError("--keep: loads on a Spark cluster, or into a lake in an object store, keep all messages")
    if find_coordinator(store, lake) is None:
        raise ValueError(
            "--keep: only signed milestones are kept in part, and the keys of the coordinator are unknown: set "
            "coordinator_keys, or give a genesis that contains them"
        )
