"""The API families of a Wormhole network.

Its modules hold what the families share: parameters, JSON, response models, signatures. They import no family.
"""
