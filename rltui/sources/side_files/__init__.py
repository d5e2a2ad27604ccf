"""Files beside the logs that are read on demand and never followed: samples, settings."""
