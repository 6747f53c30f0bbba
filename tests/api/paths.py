"""The paths of the contract by protocol."""

import re

OF_WORMHOLE = re.compile(r"^/v1/|/[{]network[}]/v1/|/wormhole/(v1|events)/")
"""Paths that only Wormhole networks serve; their own suites request them."""
