"""What the headers of picture files say, read without decoding them."""
