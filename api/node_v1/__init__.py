"""Node REST API v1 of Chrysalis (TIP-13), with paging."""
