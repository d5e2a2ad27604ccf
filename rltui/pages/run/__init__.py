"""The page of a run: header, tabs, tables and grids of metrics."""
