"""Measurements and the demo; never deployed."""
