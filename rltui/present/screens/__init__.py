"""What the app shows, as pure functions from facts to lines."""
