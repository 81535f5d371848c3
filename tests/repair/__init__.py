"""Models that are broken: mended where that takes no guess, refused where it does."""
