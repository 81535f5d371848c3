"""Rules for single tensors: as values, as text, by what a tensor feeds, and in whole runs."""
