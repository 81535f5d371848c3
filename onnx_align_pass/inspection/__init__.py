"""What a model holds and what is wrong with it: it is read, and nothing is refused."""
