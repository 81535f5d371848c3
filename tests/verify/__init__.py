"""Models checked as they lie, compared with others, and their digest."""
