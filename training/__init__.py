"""Trains the garment network from photos. Never deployed; `python -m training` runs every stage."""
