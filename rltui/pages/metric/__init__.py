"""The page of one metric: its chart and all that is known of it."""
