"""The paths of the contract by protocol."""

import re

from api.families import WORMHOLE_V1

OF_SCAN = "|".join(re.escape(each.path) for each in WORMHOLE_V1.operations)
OF_WORMHOLE = re.compile(rf"^/v1/|/[{{]network[}}]/(api/)?v1/|/wormhole/(v1|events)/|^/api/v1({OF_SCAN})$")
"""Paths that only Wormhole networks serve; their own suites request them."""

OF_CHAINS = re.compile(r"/native-tokens/|/nfts/|\{(aliasId|foundryId|nftId)\}$")
"""Paths of objects that Chrysalis networks do not have."""
