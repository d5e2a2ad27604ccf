"""The page of a run's texts and samples."""
