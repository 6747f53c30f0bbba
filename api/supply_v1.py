"""The API of inx-supply-tracker, for both eras: the IOTA explorer shows its number.

The explorer multiplies the number by the decimals of the base token. The source of inx-supply-tracker is not public, so
the definition is this server's own.
"""

from pydantic import ConfigDict, RootModel

from api.handlers.analysed_state import ledger_row
from api.http.operations import Family, Operation
from api.network import NetworkMount
from db.roles import KINDS


class CirculatingSupply(RootModel[float]):
    """The circulating supply in units of the base token, not in subunits."""

    model_config = ConfigDict(json_schema_extra={"examples": [2779530283.277761]})


async def circulating_supply(network: NetworkMount) -> float:
    """Returns the circulating supply at the ledger index, as a number in units of the base token.

    All base tokens in unspent outputs circulate, except those in outputs with a timelock. A timelock that is over
    counts until its output is spent. The treasury, whose funds have not been migrated, does not circulate.
    """
    row = await ledger_row(network, None)
    amount: int = sum(row[f"{kind}_amount"] for kind in KINDS) - row["timelock_amount"]
    unit: int = 10**network.base_token.decimals
    return amount / unit


SUPPLY_V1 = Family(
    "supply",
    (Operation("/circulating", circulating_supply, CirculatingSupply, (404, 501)),),
    wrap=lambda value: value,
)
