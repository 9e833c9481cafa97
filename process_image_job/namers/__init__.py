"""Who says what a garment is: the own model, a vision endpoint, or the person."""
