"""The page on which one chooses what to watch."""
