"""A cluster that lets in only whom it knows, and speaks TLS only: what is answered, and what is refused in which words.

Rules of this file: certificates are made here, each run anew; no refusal shows a password or a key.
"""

import datetime
import ipaddress
import logging
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import StoreSettings, open_store
from db.store import StoreError, StoreUnavailable
from tests.api.conftest import fill
from tests.api.oracle import Oracle
from tests.cassandra_server import FORGETFUL, QUICK, CassandraServer, running

pytestmark = pytest.mark.usefixtures("cassandra_runs")

PASSWORD, WRONG = "correct horse", "stolen horse"

SECURED = """\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  keystore: {keystore}
  ssl_context_factory: {{class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}}
"""


@dataclass(frozen=True)
class Authority:
    """Who certifies: its key and its own certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, signed("authority", key, None, x509.BasicConstraints(ca=True, path_length=None)))

    def write(self, file: Path) -> str:
        file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return str(file)


@dataclass(frozen=True)
class Secured:
    """Settings that are let in, and who certified the server."""

    settings: StoreSettings
    authority: Authority


def signed(
    name: str, key: ec.EllipticCurvePrivateKey, authority: Authority | None, *extensions: x509.ExtensionType
) -> x509.Certificate:
    """A certificate of one day; without an authority by its own key."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        authority.certificate.subject if authority else subject, subject, key.public_key(), x509.random_serial_number(),
        now - datetime.timedelta(hours=1), now + datetime.timedelta(days=1),
    )  # fmt: skip
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(authority.key if authority else key, hashes.SHA256())


def keystore(authority: Authority, address: str) -> bytes:
    """A node's key and certificate, which names that address and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + signed("node", key, authority, names).public_bytes(pem)


@pytest.fixture(scope="module")
def secured(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Secured"]:
    """Such a server, to which the oracle ledger was written."""
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority.new()
    trusted = authority.write(folder / "ca.pem")
    (folder / "node.pem").write_bytes(keystore(authority, "127.0.0.1"))
    extra = SECURED.format(keystore=folder / "node.pem")
    options = (*QUICK, FORGETFUL, "-Dcassandra.superuser_setup_delay_ms=0")
    server = CassandraServer(
        folder / "node", java_options=options, extra=extra, tls=ssl.create_default_context(cafile=trusted)
    )
    with running(server):
        make_users(server)
        network = oracle.expected["network"]
        settings = StoreSettings(
            f"cassandra://writer@{server.contact}/secured?rf=1", network, password=PASSWORD, tls_ca=trusted
        )
        fill(settings, oracle).close()
        yield Secured(settings, authority)


def make_users(server: CassandraServer) -> None:
    """`writer` may do all, `guest` nothing."""
    known = PlainTextAuthProvider("cassandra", "cassandra")
    with Cluster(
        [server.address], port=server.ports.native, protocol_version=4, auth_provider=known, ssl_context=server.tls
    ) as cluster:
        session = cluster.connect()
        for user in ("writer", "guest"):
            session.execute(f"CREATE ROLE {user} WITH PASSWORD = '{PASSWORD}' AND LOGIN = true")
        session.execute("GRANT ALL ON ALL KEYSPACES TO writer")


async def test_with_password_and_tls_it_is_a_store_like_any_other(
    secured: Secured, oracle: Oracle, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        store = open_store(secured.settings)
    app = create_app({"secured": NetworkMount(store, secured.settings.network, "atoi")}, "secured", ApiSettings())
    entry = oracle.entries[0]
    tag = max(oracle.tagged, key=lambda each: len(oracle.tagged[each]))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        message = await client.get(f"/api/v1/messages/{entry['id']}")
        listed = await client.get(f"/api/v1/messages?index={tag}&page_size=1000")
    assert message.json() == {"data": entry["message"]}
    assert listed.json()["data"]["messageIds"] == oracle.tagged[tag]
    assert PASSWORD not in caplog.text
    store.close()


@contextmanager
def impostor(authority: Authority, folder: Path) -> Iterator[str]:
    """HOST:PORT of somebody whom the same authority certified for another address."""
    (folder / "impostor.pem").write_bytes(keystore(authority, "127.0.0.9"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "impostor.pem")

    def listen() -> None:
        with suppress(OSError):
            context.wrap_socket(listener.accept()[0], server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listening = threading.Thread(target=listen)
        listening.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listening.join()


def refusal(settings: StoreSettings, caplog: pytest.LogCaptureFixture) -> str:
    """In which words those settings are refused; neither they nor the log tell a secret."""
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreError) as refused:
        open_store(settings)
    assert not isinstance(refused.value, StoreUnavailable)
    for secret in (PASSWORD, WRONG):
        assert secret not in str(refused.value) + caplog.text + repr(settings)
    return str(refused.value)


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        ("writer@", WRONG, "user writer and the password given are refused"),
        ("nobody@", PASSWORD, "user nobody and the password given are refused"),
        ("", "", "it lets nobody in without a user: name one in the URL, as USER@HOST"),
        ("guest@", PASSWORD, "user guest may not do that: .*no SELECT permission on <table secured.keyspace_info>"),
    ],
)
def test_who_is_not_known_or_not_allowed_is_told_so(
    secured: Secured, caplog: pytest.LogCaptureFixture, user: str, password: str, words: str
) -> None:
    url = secured.settings.url.replace("writer@", user)
    assert re.search(words, refusal(replace(secured.settings, url=url, password=password), caplog))


def test_a_server_that_somebody_else_certified_is_not_trusted(
    secured: Secured, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    other = Authority.new().write(tmp_path / "other.pem")
    words = refusal(replace(secured.settings, tls_ca=other), caplog)
    assert "tls_ca and tls_hostnames do not let us trust it: certificate signature failure" in words


def test_a_server_that_is_certified_for_another_address_is_not_trusted(
    secured: Secured, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with impostor(secured.authority, tmp_path) as contact:
        url = f"cassandra://writer@{contact}/secured"
        words = refusal(replace(secured.settings, url=url), caplog)
    assert "tls_ca and tls_hostnames do not let us trust it: IP address mismatch" in words


@pytest.mark.parametrize("file", ["/nowhere/ca.pem", __file__])
def test_a_file_of_certificates_that_is_none_is_refused_by_the_settings_name(
    secured: Secured, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    assert refusal(replace(secured.settings, tls_ca=file), caplog).startswith("tls_ca, tls_cert, tls_key: ")


def test_in_the_clear_nobody_answers(secured: Secured) -> None:
    with pytest.raises(StoreUnavailable, match="no node answers"):
        open_store(replace(secured.settings, tls_ca=""))
