"""The page of a run's hyperparameters."""
