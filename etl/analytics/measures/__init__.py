"""The measures of a milestone, one file each."""
