"""TLS for writes by executors: a profile of the Java driver, because the connector's options cannot verify host names.

PEM files are converted to Java key stores in a folder that executors share. Only their user can read it, because the
profile contains the user's password. It is deleted at the end of the run. Nothing here writes a log.
"""

import base64
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway, JavaObject
from py4j.protocol import Py4JJavaError

from db.cassandra.address import Address, ClusterSettings
from db.store import StoreError

STORES_PASSWORD = "permanode"  # noqa: S105 (Java wants one; what protects the files is who may read them)
KEY = re.compile(r"-----BEGIN PRIVATE KEY-----(.+?)-----END PRIVATE KEY-----", re.DOTALL)
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
KINDS = ("EC", "RSA", "Ed25519")
REQUEST_S = 120


def driver_profile(gateway: JavaGateway, folder: Path, address: Address, cluster: ClusterSettings) -> str:
    """The URL of a driver profile with all connection settings of a cluster. `folder` is new and shared with executors.

    Raises StoreError for invalid certificates and keys.
    """
    folder.mkdir(mode=0o700, parents=True)
    try:
        engine = {
            "class": "DefaultSslEngineFactory",
            "hostname-validation": cluster.tls_hostnames,
            "truststore-path": _trust_store(gateway, folder / "trust.p12", Path(cluster.tls_ca)),
            "truststore-password": STORES_PASSWORD,
        }
        if cluster.tls_cert:
            certificate, key = Path(cluster.tls_cert), Path(cluster.tls_key or cluster.tls_cert)
            engine["keystore-path"] = _key_store(gateway, folder / "key.p12", certificate, key)
            engine["keystore-password"] = STORES_PASSWORD
    except (OSError, Py4JJavaError) as error:
        reason = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
        raise StoreError(f"tls_ca, tls_cert, tls_key: {reason}") from error
    balancing = {"class": "com.datastax.spark.connector.cql.LocalNodeFirstLoadBalancingPolicy"}
    if address.dc:
        balancing["local-datacenter"] = address.dc
    advanced: dict[str, Any] = {
        "ssl-engine-factory": engine,
        "retry-policy": {"class": "com.datastax.spark.connector.cql.MultipleRetryPolicy"},
        "reconnection-policy": {"base-delay": "1 second", "max-delay": "5 seconds"},
        "netty": {"daemon": True},
    }
    if address.user:
        provider = {"class": "PlainTextAuthProvider", "username": address.user, "password": cluster.password}
        advanced["auth-provider"] = provider
    basic = {
        "contact-points": [f"{host}:{address.port}" for host in address.hosts],
        "load-balancing-policy": balancing,
        "request": {"timeout": f"{REQUEST_S} seconds"},
    }
    profile = folder / "driver.conf"
    profile.touch(mode=0o600)
    profile.write_text(json.dumps({"datastax-java-driver": {"basic": basic, "advanced": advanced}}))
    return profile.absolute().as_uri()


def _trust_store(gateway: JavaGateway, path: Path, authorities: Path) -> str:
    store = _empty(gateway)
    for number, certificate in enumerate(_certificates(gateway, authorities)):
        store.setCertificateEntry(f"authority-{number}", certificate)
    return _stored(gateway, store, path)


def _key_store(gateway: JavaGateway, path: Path, certificate: Path, key: Path) -> str:
    found = KEY.search(key.read_text())
    if found is None:
        raise StoreError(f"tls_key: expected a PKCS#8 key without a password (BEGIN PRIVATE KEY) in {key}")
    private = _private(gateway, base64.b64decode(found[1]))
    if private is None:
        raise StoreError(f"tls_key: expected a key of type {' or '.join(KINDS)} in {key}")
    chain = _certificates(gateway, certificate)
    certificates = gateway.new_array(gateway.jvm.java.security.cert.Certificate, len(chain))
    for number, each in enumerate(chain):
        certificates[number] = each
    store = _empty(gateway)
    store.setKeyEntry("own", private, _characters(gateway, STORES_PASSWORD), certificates)
    return _stored(gateway, store, path)


def _private(gateway: JavaGateway, data: bytes) -> JavaObject | None:
    """Loads the private key by trying each kind in KINDS. The object that Java returns is of a class in a closed module
    and cannot be inspected.
    """
    specification = gateway.jvm.java.security.spec.PKCS8EncodedKeySpec(data)
    for kind in KINDS:
        with suppress(Py4JJavaError):
            return gateway.jvm.java.security.KeyFactory.getInstance(kind).generatePrivate(specification)
    return None


def _certificates(gateway: JavaGateway, path: Path) -> list[JavaObject]:
    """All certificates in a PEM file, which may also contain a key."""
    found = CERTIFICATE.findall(path.read_text())
    if not found:
        raise StoreError(f"tls_ca, tls_cert: expected a PEM certificate in {path}")
    data = gateway.jvm.java.io.ByteArrayInputStream("\n".join(found).encode())
    return list(gateway.jvm.java.security.cert.CertificateFactory.getInstance("X.509").generateCertificates(data))


def _empty(gateway: JavaGateway) -> JavaObject:
    store = gateway.jvm.java.security.KeyStore.getInstance("PKCS12")
    store.load(None, _characters(gateway, STORES_PASSWORD))
    return store


def _stored(gateway: JavaGateway, store: JavaObject, path: Path) -> str:
    stream = gateway.jvm.java.io.FileOutputStream(str(path.absolute()))
    store.store(stream, _characters(gateway, STORES_PASSWORD))
    stream.close()
    return str(path.absolute())


def _characters(gateway: JavaGateway, text: str) -> JavaObject:
    characters = gateway.new_array(gateway.jvm.char, len(text))
    for at, character in enumerate(text):
        characters[at] = character
    return characters
