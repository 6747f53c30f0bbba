"""Which paths of the contract are of which protocol."""

import re

OF_WORMHOLE = re.compile(r"^/v1/|/[{]network[}]/v1/|/wormhole/(v1|events)/")
"""Those that answer for networks of Wormhole alone; their own suites ask them over its store."""
