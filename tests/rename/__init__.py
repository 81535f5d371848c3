"""A model that gets another name, with its data."""
