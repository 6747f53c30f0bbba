"""Functions of the Wormhole event database, under their old names."""
