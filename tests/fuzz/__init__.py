"""Targets for a coverage-guided fuzzer, and the inputs that it found worth keeping."""
