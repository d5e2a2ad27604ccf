"""Output of the commands: text, JSON, CSV, Parquet, charts for standard output."""
