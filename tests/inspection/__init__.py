"""What a model holds and what is wrong with it, as values, and as a page."""
