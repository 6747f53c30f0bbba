"""The API families of a Wormhole network."""
