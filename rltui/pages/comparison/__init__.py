"""The page that compares runs or groups of runs."""
