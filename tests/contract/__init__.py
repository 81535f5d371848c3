"""What others build on: names, signatures, what is imported when, who may import what."""
