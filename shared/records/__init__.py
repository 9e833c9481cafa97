"""What the tables hold, in the words of the domain; every write goes through here."""
