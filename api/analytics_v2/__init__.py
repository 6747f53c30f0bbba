"""Analytics API v2: inx-chronicle's endpoints, and series by milestone, hour and day."""
