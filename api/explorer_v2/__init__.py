"""Explorer API v2 of inx-chronicle: history by address, children, milestones, balances, richest addresses."""
