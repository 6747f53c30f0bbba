"""Responses with the richest addresses and the token distribution, as explorer v2 and analytics v2 return them."""

from pydantic import BaseModel

from api.fields.chrysalis_payloads import U32, U64Text
from api.fields.examples import BECH32
from api.fields.stardust_payloads import Bech32
from api.http.responses import whole_example


class RichAddress(BaseModel):
    """An address, and the base tokens of all unspent outputs whose owner it is."""

    address: Bech32
    balance: U64Text


class RichestAddresses(BaseModel):
    """The addresses with the highest balances."""

    model_config = whole_example(top=[{"address": BECH32, "balance": "66290701014311"}], ledgerIndex=50)
    top: list[RichAddress]
    ledgerIndex: U32


class BalanceRange(BaseModel):
    """Balances from `start` to below `end`."""

    start: int
    end: int


class Bucket(BaseModel):
    """The number of addresses with a balance in this range, and the sum of their balances."""

    range: BalanceRange
    addressCount: U64Text
    totalBalance: U64Text


class TokenDistribution(BaseModel):
    """The distribution of tokens, by power of ten of the balance."""

    model_config = whole_example(
        distribution=[{"range": {"start": 1000000, "end": 10000000}, "addressCount": "3", "totalBalance": "4500000"}],
        ledgerIndex=50,
    )
    distribution: list[Bucket]
    ledgerIndex: U32
