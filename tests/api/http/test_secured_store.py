"""A cluster with authentication and TLS only: the answers of the API, and the errors for rejected settings.

Certificates are created here in each run. No error shows a password or a key.
"""

import logging
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.cassandra.address import parse_address
from db.cassandra.reader import AcsyllaReader
from db.cassandra.session import CassandraSession
from db.connect import StoreSettings, open_store
from db.store import StoreError, StoreUnavailable
from tests.api.conftest import fill
from tests.api.oracle import Oracle
from tests.cassandra_server import FORGETFUL, QUICK, CassandraServer, running
from tests.certificates import TLS, Authority, keystore
from tests.conftest import ROOT

pytestmark = pytest.mark.usefixtures("cassandra_runs")

PASSWORD, WRONG = "correct horse", "stolen horse"

FIRST = 12
"""Milestones that are written to the cluster."""

SECURED = f"""\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
{TLS}"""


@dataclass(frozen=True)
class Secured:
    """Accepted settings, and the authority that certified the server."""

    settings: StoreSettings
    authority: Authority


@pytest.fixture(scope="module")
def oracle(oracle: Oracle) -> Oracle:
    """The first milestones of the ledger."""
    return replace(oracle, milestones=oracle.milestones[:FIRST], pending=[])


@pytest.fixture(scope="module")
def secured(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Secured"]:
    """Such a server, filled with the oracle ledger."""
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
    """`writer` has all permissions, `guest` none."""
    known = PlainTextAuthProvider("cassandra", "cassandra")
    with Cluster(
        [server.address], port=server.ports.native, protocol_version=4, auth_provider=known, ssl_context=server.tls
    ) as cluster:
        session = cluster.connect()
        for user in ("writer", "guest"):
            session.execute(f"CREATE ROLE {user} WITH PASSWORD = '{PASSWORD}' AND LOGIN = true")
        session.execute("GRANT ALL ON ALL KEYSPACES TO writer")


@pytest.mark.parametrize("reader", ["cassandra", "acsylla"])
async def test_with_password_and_tls_it_is_a_store_like_any_other(
    secured: Secured, oracle: Oracle, caplog: pytest.LogCaptureFixture, reader: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        store = open_store(replace(secured.settings, reader=reader))
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


async def test_a_role_with_the_permission_of_the_page_serves(secured: Secured, oracle: Oracle) -> None:
    """`select` on the keyspace, as docs/operations.md says, also for /metrics."""
    (grant,) = re.findall(r"`(GRANT [^`]+)`", (ROOT / "docs" / "operations.md").read_text("utf-8"))
    writer = secured.settings
    address = parse_address(writer.url, writer.network)
    known = PlainTextAuthProvider("cassandra", "cassandra")
    context = ssl.create_default_context(cafile=writer.tls_ca)
    with Cluster(
        address.hosts, port=address.port, protocol_version=4, auth_provider=known, ssl_context=context
    ) as cluster:
        session = cluster.connect()
        session.execute(f"CREATE ROLE server WITH PASSWORD = '{PASSWORD}' AND LOGIN = true")
        session.execute(f"{grant.replace('…', address.keyspace)} TO server")
    store = open_store(replace(writer, url=writer.url.replace("writer@", "server@")))
    app = create_app({"secured": NetworkMount(store, writer.network, "atoi")}, "secured", ApiSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://permanode") as client:
        assert (await client.get(f"/api/v1/messages/{oracle.entries[0]['id']}")).status_code == 200
        metrics = (await client.get("/metrics")).text
    assert 'permanode_store_up{network="secured"} 1.0' in metrics
    assert f'permanode_newest_milestone{{network="secured"}} {FIRST}.0' in metrics
    store.close()


@contextmanager
def impostor(authority: Authority, folder: Path) -> Iterator[str]:
    """HOST:PORT of a server with a certificate of the same authority for another address."""
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


@contextmanager
def pretender(pem: bytes, folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """HOST:PORT of a server with that certificate, and the bytes that a client sends after trusting it."""
    (folder / "pretender.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pretender.pem")
    heard: list[bytes] = []

    def listen() -> None:
        with suppress(OSError):
            while True:
                accepted = listener.accept()[0]
                with suppress(OSError), context.wrap_socket(accepted, server_side=True) as connection:
                    heard.extend(filter(None, [connection.recv(1000)]))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listening = threading.Thread(target=listen)
        listening.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", heard
        listener.shutdown(socket.SHUT_RDWR)
        listening.join()


def rejection(settings: StoreSettings, caplog: pytest.LogCaptureFixture) -> str:
    """The error for those settings; neither the error nor the log shows a secret."""
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreError) as rejected:
        open_store(settings)
    assert not isinstance(rejected.value, StoreUnavailable)
    for secret in (PASSWORD, WRONG):
        assert secret not in str(rejected.value) + caplog.text + repr(settings)
    return str(rejected.value)


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        ("writer@", WRONG, "wrong user writer or password"),
        ("nobody@", PASSWORD, "wrong user nobody or password"),
        ("", "", "authentication is required: add a user to the URL, as USER@HOST"),
        ("guest@", PASSWORD, "user guest is not authorized: .*no SELECT permission on <table secured.keyspace_info>"),
    ],
)
def test_who_is_not_known_or_not_allowed_gets_an_error(
    secured: Secured, caplog: pytest.LogCaptureFixture, user: str, password: str, words: str
) -> None:
    url = secured.settings.url.replace("writer@", user)
    assert re.search(words, rejection(replace(secured.settings, url=url, password=password), caplog))


def test_a_server_that_somebody_else_certified_is_not_trusted(
    secured: Secured, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    other = Authority.new().write(tmp_path / "other.pem")
    words = rejection(replace(secured.settings, tls_ca=other), caplog)
    assert "tls_ca and tls_hostnames reject the node's certificate: certificate signature failure" in words


def test_a_server_that_is_certified_for_another_address_is_not_trusted(
    secured: Secured, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with impostor(secured.authority, tmp_path) as contact:
        url = f"cassandra://writer@{contact}/secured"
        words = rejection(replace(secured.settings, url=url), caplog)
    assert "tls_ca and tls_hostnames reject the node's certificate: IP address mismatch" in words


@pytest.mark.parametrize("hostnames", [True, False])
async def test_acsylla_checks_the_name_and_the_signature(secured: Secured, tmp_path: Path, hostnames: bool) -> None:
    """Runs with a session that can log in. Each process gets the password or not; without it, login fails."""
    other = Authority.new()
    settings = replace(secured.settings, tls_hostnames=hostnames)
    with closing(CassandraSession(parse_address(settings.url, settings.network), settings)) as session:
        for signed_by, named, is_trusted in (
            (secured.authority, "127.0.0.1", True),
            (secured.authority, "127.0.0.9", not hostnames),
            (other, "127.0.0.1", False),
            (other, "127.0.0.9", False),
        ):
            with pretender(keystore(signed_by, named), tmp_path) as (contact, heard):
                address = parse_address(f"cassandra://writer@{contact}/secured", settings.network)
                reader = AcsyllaReader(address, settings, session)
                with pytest.raises((StoreError, StoreUnavailable)):
                    await reader.query("SELECT key FROM system.local", (), "ONE")
            assert bool(heard) == is_trusted, (named, heard)


@pytest.mark.parametrize("file", ["/nowhere/ca.pem", __file__])
def test_an_invalid_certificate_file_is_rejected_by_the_settings_name(
    secured: Secured, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    assert rejection(replace(secured.settings, tls_ca=file), caplog).startswith("tls_ca, tls_cert, tls_key: ")


def test_in_the_clear_nobody_answers(secured: Secured) -> None:
    with pytest.raises(StoreUnavailable, match="no node responds"):
        open_store(replace(secured.settings, tls_ca=""))
