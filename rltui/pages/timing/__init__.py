"""The Timing tab: where the time of a step goes."""
