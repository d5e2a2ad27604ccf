"""Floor 1: the words that every other floor speaks. Knows nothing of them."""
