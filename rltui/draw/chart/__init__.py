"""Charts as lines of styled cells. Knows curves, limits and marks, but not runs."""
