"""Amounts of Wormhole transfers on pages: an archive keeps the cells of its source as they were written."""

import pytest

from api.web.operations import amount_of, usd


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("12.5", "12.5"),
        ("1234567.000001", "1,234,567.000001"),
        ("1e3", "1,000"),
        ("Amount", "Amount"),
        ("", ""),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e999999", "1e999999"),
        ("1e-999999", "1e-999999"),
    ],
)
def test_other_text_than_a_number_is_shown_unchanged(text: str, shown: str) -> None:
    assert amount_of({"tokenAmount": text, "symbol": "weth"}) == (f"{shown} WETH" if text else "")
    assert amount_of({"tokenAmount": text, "symbol": None}) == (f"{shown} TOKENS" if text else "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [("1234.567", "1,234.57 USD"), ("0.001", "< 0.01 USD"), ("0", "0.00 USD"), ("much", "much"), ("NaN", "NaN")],
)
def test_worth_in_other_text_is_shown_unchanged(text: str, shown: str) -> None:
    assert usd(text) == shown
