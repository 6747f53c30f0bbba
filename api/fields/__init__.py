"""Parameters and response fields that several API families share."""
