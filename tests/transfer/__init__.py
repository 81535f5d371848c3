"""Tests of the room that moves bytes."""
