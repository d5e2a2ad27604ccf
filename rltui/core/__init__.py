"""The words that every other floor speaks. Knows nothing of them."""
