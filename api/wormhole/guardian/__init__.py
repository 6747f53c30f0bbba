"""The guardian's gateway: signed VAAs and guardian sets."""
