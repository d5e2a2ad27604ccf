"""The Findings tab: what is wrong, why, what to check."""
