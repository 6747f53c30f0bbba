"""The bill of materials: every Python package, jar and image that an installation, its tests or its containers use.

The lists of the source tree are the source, not the environment: deploy/requirements, the lists of jars, the images of
the Containerfile and the compose files.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from api.version import VERSION
from cli.dependencies import REQUIREMENTS, parse_lock
from cli.options import HOME

IMAGE = re.compile(r"(?:ARG PYTHON=|image: )(?P<name>[\w./-]+):(?P<version>[\w.-]+)@sha256:(?P<digest>[0-9a-f]{64})")
IMAGE_FILES = ("Containerfile", "compose.yaml", "compose.cassandra.yaml", "compose.scylla.yaml")

AT_ONCE = 500
"""Components per request to an OSV server, which accepts 1,000."""


def components() -> Iterator[Component]:
    """Yields the components, sorted by kind and name. Packages that only development uses are optional."""
    for file in sorted(REQUIREMENTS.glob("*.txt")):
        scope = ComponentScope.OPTIONAL if file.stem in ("dev", "build") else ComponentScope.REQUIRED
        for lines in parse_lock(file.read_text("utf-8")).values():
            name, version = re.split(r"==| ", lines)[:2]
            hashes = re.findall(r"sha256:([0-9a-f]{64})", lines)
            yield _component(PackageURL("pypi", None, name.lower().replace("_", "-"), version), hashes, scope)
    for file in sorted((HOME / "etl").rglob("*_jars.txt")):
        for line in file.read_text("utf-8").splitlines():
            coordinates, digest = line.split(" ")
            group, artifact, version, *classifier = coordinates.split(":")
            qualifiers = {"classifier": classifier[0]} if classifier else None
            yield _component(PackageURL("maven", group, artifact, version, qualifiers), [digest])
    images = {match.groups() for file in IMAGE_FILES for match in IMAGE.finditer((HOME / file).read_text("utf-8"))}
    for name, version, digest in sorted(images):
        namespace, _, short = name.rpartition("/")
        purl = PackageURL("docker", namespace or "library", short, f"sha256:{digest}", {"tag": version})
        yield _component(purl, [digest], kind=ComponentType.CONTAINER)


def _component(
    purl: PackageURL,
    hashes: list[str],
    scope: ComponentScope = ComponentScope.REQUIRED,
    kind: ComponentType = ComponentType.LIBRARY,
) -> Component:
    return Component(
        type=kind,
        group=purl.namespace,
        name=purl.name,
        version=purl.version,
        bom_ref=str(purl),
        purl=purl,
        scope=scope,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in hashes],
    )


def write(target: Path) -> int:
    """Writes the bill as CycloneDX JSON and returns the number of components."""
    bom = Bom(components=components())
    bom.metadata.component = Component(type=ComponentType.APPLICATION, name="permanode", version=VERSION)
    bom.register_dependency(bom.metadata.component, bom.components)
    outputter = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6)
    target.write_text(outputter.output_as_string(indent=2) + "\n", "utf-8")
    return len(bom.components)


def audit(url: str) -> dict[str, list[str]]:
    """Returns package URL → ids of known vulnerabilities, from an OSV server. Raises RuntimeError without a response.

    Source: https://google.github.io/osv.dev/post-v1-querybatch/.
    """
    known = [each.purl for each in components() if each.purl is not None and each.type is ComponentType.LIBRARY]
    # OSV rejects qualifiers such as the classifier.
    purls = sorted({PackageURL(each.type, each.namespace, each.name, each.version).to_string() for each in known})
    found: dict[str, list[str]] = {}
    for start in range(0, len(purls), AT_ONCE):
        queried = purls[start : start + AT_ONCE]
        try:
            answer = httpx.post(
                f"{url}/v1/querybatch", json={"queries": [{"package": {"purl": purl}} for purl in queried]}, timeout=60
            ).raise_for_status()
        except httpx.HTTPError as error:
            raise RuntimeError(f"{url}: {error}") from error
        results = answer.json()["results"]
        if len(results) != len(queried):
            raise RuntimeError(f"{url}: {len(queried)} results expected, found {len(results)}")
        for purl, result in zip(queried, results, strict=True):
            if ids := [each["id"] for each in result.get("vulns", ())]:
                found[purl] = ids
    return found
