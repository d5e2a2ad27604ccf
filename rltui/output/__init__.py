"""What commands write: text, JSON, CSV, Parquet, charts for standard output."""
