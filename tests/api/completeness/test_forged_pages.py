"""Both checkers reject forgeries of the documents that `proof=complete` returns, and agree about each."""

import json
from pathlib import Path

import pytest

from tests.api.completeness.proved_routes import BOTH_ERAS, CHRYSALIS, SEEDS, STARDUST, pages
from tests.api.proved import SMALLEST, Proved
from tests.ledger.completeness.javascript import Case
from tests.ledger.completeness.rejected import reject_forgeries


async def check_forged_pages(proved: Proved, folder: Path, number: int) -> None:
    documents = set()
    for route in (*BOTH_ERAS, *(CHRYSALIS if proved.network == "permatest-1" else (*STARDUST, *SEEDS))):
        keys = {key for family in route.families for key in proved.keys(family, 3) if key}
        for key in [each for each in keys if each[0] == 0 or route.key != "ed25519"]:
            for page in await pages(proved, route, key, 3, "newest", most=2):
                documents |= {
                    json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode()
                    for each in page.get("proofs", [page.get("proof")])
                }
    cases = [Case(each, proved.network, proved.head) for each in sorted(documents)]
    reasons = reject_forgeries(folder, cases, [proved.archive], 3, number, SMALLEST)
    assert len(reasons) > 15, "the forgeries pass too few of the checks"


@pytest.mark.thorough
async def test_both_checkers_reject_forged_pages_and_agree(proved: Proved, tmp_path: Path) -> None:
    await check_forged_pages(proved, tmp_path, 1_000)


@pytest.mark.slow
async def test_both_checkers_reject_50_000_forged_pages_of_each_era_and_agree(proved: Proved, tmp_path: Path) -> None:
    await check_forged_pages(proved, tmp_path, 50_000)
