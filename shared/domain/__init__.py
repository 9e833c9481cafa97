"""The words of the product and their rules. Pure: nothing here reads a clock or a network."""
