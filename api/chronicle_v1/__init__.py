"""Chronicle API v1: the node's routes with paging, `expanded`, analytics and sync."""
