"""The version of this program. The package, `/info`, the OpenAPI document and /docs all take it from here."""

VERSION = "0.1.0"
