"""Certificates that tests create in each run, and the settings of a TLS server that uses one."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

TLS = """\
client_encryption_options:
  enabled: true
  optional: false
  keystore: {keystore}
  ssl_context_factory: {{class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}}
"""
"""Lines of a server's cassandra.yaml."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority: its key and its own certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, signed("authority", key, None, x509.BasicConstraints(ca=True, path_length=None)))

    def write(self, file: Path) -> str:
        file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return str(file)


def signed(
    name: str, key: ec.EllipticCurvePrivateKey, authority: Authority | None, *extensions: x509.ExtensionType
) -> x509.Certificate:
    """A certificate valid for a day; without an authority it is self-signed."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        authority.certificate.subject if authority else subject, subject, key.public_key(), x509.random_serial_number(),
        now - datetime.timedelta(hours=1), now + datetime.timedelta(days=1),
    )  # fmt: skip
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(authority.key if authority else key, hashes.SHA256())


def keystore(authority: Authority, address: str, *hosts: str) -> bytes:
    """A node's key and certificate, which names only that address and those hosts."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = [x509.IPAddress(ipaddress.ip_address(address)), *map(x509.DNSName, hosts)]
    names = x509.SubjectAlternativeName(named)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + signed("node", key, authority, names).public_bytes(pem)
