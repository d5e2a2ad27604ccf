"""Types and functions that all other packages share; imports none of them."""
