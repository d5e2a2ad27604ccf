"""Which runs a directory holds and which files belong to them. Follows no file."""
