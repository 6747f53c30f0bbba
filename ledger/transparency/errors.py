"""Errors of the transparency log."""


class LogError(ValueError):
    """A key, note, checkpoint, tile, record or proof is invalid. The message says what was expected."""


class SignatureError(LogError):
    """A note has an invalid signature of a known key, or none of the key that must have signed it."""
