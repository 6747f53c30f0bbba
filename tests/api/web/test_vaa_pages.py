"""The page of a VAA: who of the guardian set signed, compared with the signers in the records."""

import re

import httpx

from tests.api.wormhole_network import NETWORK, World

GUARDIAN = re.compile(r'<li( class="signed")?><span class="soft">(\d+)</span>.*? <span>([a-z, A-Z]+)</span></li>')


async def test_the_guardians_that_signed_are_those_in_the_vaa_also_if_other_sets_signed_it(
    pages: httpx.AsyncClient, world: World
) -> None:
    signed_again = 0
    for message in world.verified:
        record = message.served
        sets = {each.record["guardian_set"] for each in message.observed}
        signed_again += len(sets) > 1
        if len(sets) == 1 and record["sequence"] % 10:
            continue
        page = (await pages.get(f"/{NETWORK}/vaa/{record['message_id']}")).text
        found = GUARDIAN.findall(page)
        places = {each["index"] for each in record["signers"]}
        assert {int(index) for _, index, text in found if text == "signed"} == places
        marked = {int(index) for mark, index, _ in found if mark}
        assert marked >= places
        assert f"{len(marked)} of the {len(found)} guardians of set {record['guardian_set']} signed" in page
    assert signed_again > 1
