"""Each preset keeps its promise, on models made at random."""
