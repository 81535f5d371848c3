"""What may be put right in a model without a guess: entries, and where data files are."""
