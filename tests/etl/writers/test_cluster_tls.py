"""A driver's TLS profile: Java trusts and presents exactly what the PEM files contain, and only the user can read it.

Each run creates its certificates. Another implementation reads the key stores.
"""

import asyncio
import datetime
import json
import ssl
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from py4j.java_gateway import JavaGateway
from pyspark.sql import SparkSession

from db import schema
from db.admin.migrate import migrate
from db.cassandra.address import ClusterSettings, parse_address
from db.connect import StoreSettings, open_store
from db.store import StoreError, StoreUnavailable
from etl.engine.settings import EtlSettings
from etl.tables.frames import TableFrame
from etl.writers.choice import frame_writer
from etl.writers.cluster_tls import STORES_PASSWORD, driver_profile
from etl.writers.staging import Staging
from tests.cassandra_server import CassandraServer, running
from tests.certificates import TLS, Authority, keystore

pytestmark = pytest.mark.spark

PASSWORD = "hunter2-7f3a"
ADDRESS = parse_address("cassandra://me@10.0.0.1:9142,10.0.0.2:9142/ks?dc=east", "permatest-1")

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
KEYS: list[Callable[[], Key]] = [
    lambda: ec.generate_private_key(ec.SECP256R1()),
    lambda: rsa.generate_private_key(65537, 2048),
]
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()


def certificate(name: str, key: Key) -> x509.Certificate:
    """A certificate signed by its own key, valid for a day."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now)
    return builder.not_valid_after(now + datetime.timedelta(days=1)).sign(key, hashes.SHA256())


@pytest.fixture
def gateway(spark: SparkSession) -> JavaGateway:
    return spark.sparkContext._gateway


def profile(gateway: JavaGateway, folder: Path, settings: ClusterSettings) -> dict[str, object]:
    """The profile's settings; no other user may read the file."""
    file = Path(url2pathname(urlparse(driver_profile(gateway, folder, ADDRESS, settings)).path))
    assert file.parent == folder
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    return json.loads(file.read_text())["datastax-java-driver"]


def test_a_profile_says_how_to_reach_a_cluster_and_what_to_trust(gateway: JavaGateway, tmp_path: Path) -> None:
    authorities = [certificate(f"authority {number}", KEYS[0]()) for number in range(2)]
    (tmp_path / "ca.pem").write_bytes(b"".join(each.public_bytes(PEM) for each in authorities))
    settings = ClusterSettings(password=PASSWORD, tls_ca=str(tmp_path / "ca.pem"), tls_hostnames=False)
    found = profile(gateway, tmp_path / "tls", settings)
    assert found["basic"]["contact-points"] == ["10.0.0.1:9142", "10.0.0.2:9142"]
    assert found["basic"]["load-balancing-policy"]["local-datacenter"] == "east"
    advanced = found["advanced"]
    assert (advanced["auth-provider"]["username"], advanced["auth-provider"]["password"]) == ("me", PASSWORD)
    engine = advanced["ssl-engine-factory"]
    assert engine["hostname-validation"] is False
    trusted = load_pkcs12(Path(engine["truststore-path"]).read_bytes(), STORES_PASSWORD.encode())
    assert {each.certificate for each in trusted.additional_certs} == set(authorities)
    assert "keystore-path" not in engine


@pytest.mark.parametrize("new_key", KEYS, ids=["ec", "rsa"])
@pytest.mark.parametrize("apart", [True, False], ids=["two files", "one file"])
def test_our_own_certificate_and_its_key(
    gateway: JavaGateway, tmp_path: Path, new_key: Callable[[], Key], apart: bool
) -> None:
    key = new_key()
    own = certificate("own", key)
    (tmp_path / "ca.pem").write_bytes(own.public_bytes(PEM))
    private = key.private_bytes(PEM, PKCS8, PLAIN)
    (tmp_path / "key.pem").write_bytes(private)
    (tmp_path / "own.pem").write_bytes(own.public_bytes(PEM) + (b"" if apart else private))
    files = {"tls_ca": str(tmp_path / "ca.pem"), "tls_cert": str(tmp_path / "own.pem")}
    if apart:
        files["tls_key"] = str(tmp_path / "key.pem")
    engine = profile(gateway, tmp_path / "tls", ClusterSettings(**files))["advanced"]["ssl-engine-factory"]
    assert engine["hostname-validation"] is True
    shown = load_pkcs12(Path(engine["keystore-path"]).read_bytes(), STORES_PASSWORD.encode())
    assert shown.cert.certificate == own
    assert shown.key.private_bytes(PEM, PKCS8, PLAIN) == private


def test_invalid_files_are_rejected(gateway: JavaGateway, tmp_path: Path) -> None:
    key = KEYS[0]()
    own, old = tmp_path / "own.pem", tmp_path / "old.pem"
    own.write_bytes(certificate("own", key).public_bytes(PEM))
    old.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.TraditionalOpenSSL, PLAIN))
    (tmp_path / "text.pem").write_text("nothing")
    for number, (files, message) in enumerate(
        [
            ({"tls_ca": str(tmp_path / "none.pem")}, r"none\.pem"),
            ({"tls_ca": str(tmp_path / "text.pem")}, "tls_ca, tls_cert"),
            (
                {"tls_ca": str(own), "tls_cert": str(own), "tls_key": str(old)},
                r"expected a PKCS#8 key .* in .*old\.pem",
            ),
        ]
    ):
        with pytest.raises(StoreError, match=message):
            driver_profile(gateway, tmp_path / f"tls-{number}", ADDRESS, ClusterSettings(**files))


@pytest.fixture
def named_otherwise(cassandra_runs: None, tmp_path: Path) -> Iterator[StoreSettings]:
    """A store on a server at 127.0.0.1 with a certificate for 127.0.0.9; settings that accept it anyway."""
    authority = Authority.new()
    trusted = authority.write(tmp_path / "ca.pem")
    (tmp_path / "node.pem").write_bytes(keystore(authority, "127.0.0.9"))
    context = ssl.create_default_context(cafile=trusted)
    context.check_hostname = False
    extra = TLS.format(keystore=tmp_path / "node.pem")
    with running(CassandraServer(tmp_path / "node", extra=extra, tls=context)) as server:
        url = f"cassandra://{server.contact}/named?rf=1"
        settings = StoreSettings(url, "permatest-1", tls_ca=trusted, tls_hostnames=False)
        migrate(settings)
        yield settings


@pytest.mark.slow
def test_executors_write_over_tls_and_check_the_name(
    spark: SparkSession, named_otherwise: StoreSettings, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([(b"\1" * 32, b"x")], "message_id BINARY, message BINARY")
    with closing(open_store(named_otherwise, writable=True)) as store:
        for is_requested in (True, False):
            settings = replace(named_otherwise, tls_hostnames=is_requested, write_patience_s=1.0)
            staging = Staging(tmp_path / f"staging-{is_requested}")
            writer = frame_writer(spark, store, staging, settings, EtlSettings(), bulk=False)
            ready = writer.prepare(TableFrame(schema.messages, (frame,), frame.columns))
            with store.batch() as batch, pytest.raises(StoreUnavailable) if is_requested else nullcontext():
                assert ready.write(batch) == 1
            ready.drop()
            found = asyncio.run(store.get(schema.messages, ("01" * 32,)))
            assert found is None if is_requested else found["message"] == b"x"
