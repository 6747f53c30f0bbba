"""Settings of the HTTP server. Defaults, checks, and texts for docs/settings.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from limits import parse

from api.http.auth import JWT_SECRET_BYTES_MIN
from api.http.root_path import ROOT_PATH

SERVERS = ("uvicorn", "granian")
"""HTTP servers. Both enforce the limits of docs/limits.md."""

LEAST: Mapping[str, float] = {
    "workers": 1,
    "deadline_s": 0.001,
    "shutdown_s": 0,
    "compress_from": 0,
    "mqtt_connections": 0,
    "connections": 1,
    "head_bytes": 1_024,
    "head_s": 0.1,
    "keep_alive_s": 1,
    "send_s": 0.1,
    "unsent_bytes": 1,
}
"""The smallest value of each number."""

PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Settings of the HTTP server."""

    host: str = field(default="127.0.0.1", metadata={"help": "address to listen on"})
    port: int = field(default=8000, metadata={"help": "port to listen on"})
    workers: int = field(default=1, metadata={"help": "number of server processes; each opens the stores itself"})
    server: str = field(
        default="uvicorn",
        metadata={"help": "HTTP server: uvicorn, or granian (the extra granian; Linux)"},
    )
    access_log: bool = field(default=False, metadata={"help": "log one line per request, with its id"})
    deadline_s: float = field(default=10.0, metadata={"help": "timeout of a request in seconds; the response is a 503"})
    shutdown_s: int = field(default=30, metadata={"help": "seconds that open requests have to finish after SIGTERM"})
    stardust_network: str | None = field(
        default=None,
        metadata={"help": "network of the IOTA paths except node REST v1; default: the default network"},
    )
    wormhole_network: str | None = field(
        default=None,
        metadata={
            "help": "network of /v1 and /api/wormhole/v1; default: the default network if it is a Wormhole network, "
            "else the first Wormhole network"
        },
    )
    compress_from: int = field(
        default=2048,
        metadata={"help": "minimum bytes of a compressed response, if the client accepts compression; 0: never"},
    )
    keys: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "API keys; every request must contain one of them; default: no authentication",
            "secret": True,
        },
    )
    jwt_secret: str | None = field(
        default=None,
        metadata={
            "help": "HS256 secret; requests with a JWT that it signed are accepted like API keys",
            "secret": True,
        },
    )
    rate_limit: str | None = field(
        default=None,
        metadata={"help": "maximum of requests per client, e.g. 100/minute; each worker counts separately"},
    )
    root_path: str | None = field(
        default=None,
        metadata={
            "help": "path below which a proxy serves this server, e.g. /archive; the proxy removes it from each "
            "request, and links of pages contain it"
        },
    )
    explorer: bool = field(default=True, metadata={"help": "serve the web explorer: pages for people, beside the JSON"})
    mqtt_connections: int = field(
        default=1_000, metadata={"help": "maximum of MQTT clients of each worker; 0: no MQTT"}
    )
    connections: int = field(
        default=2_000,
        metadata={"help": "maximum of connections of each worker, MQTT included; fewer if open files do not suffice"},
    )
    head_bytes: int = field(default=65_536, metadata={"help": "maximum bytes of a request's head, URL included"})
    head_s: float = field(default=10.0, metadata={"help": "seconds in which the head of a request must arrive"})
    keep_alive_s: int = field(default=5, metadata={"help": "seconds for which a connection waits for another request"})
    send_s: float = field(
        default=30.0, metadata={"help": "seconds after which a client that reads nothing is disconnected"}
    )
    unsent_bytes: int = field(
        default=64 * 1024**2,
        metadata={"help": "bytes of large responses that may wait for clients; beyond, the slowest is disconnected"},
    )

    def __post_init__(self) -> None:
        if self.server not in SERVERS:
            raise ValueError(f"server must be {' or '.join(SERVERS)}, not {self.server!r}")
        if not 0 <= self.port <= PORT_MAX:
            raise ValueError(f"port must be 0 to {PORT_MAX}, not {self.port}")
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be {least} or more, not {getattr(self, name)}")
        if self.root_path is not None and not ROOT_PATH.fullmatch(self.root_path):
            raise ValueError(
                "root_path must begin with a slash, end without one, and have only letters, digits and . _ ~ -, "
                f"not {self.root_path!r}"
            )
        if self.jwt_secret is not None and len(self.jwt_secret.encode()) < JWT_SECRET_BYTES_MIN:
            raise ValueError(f"jwt_secret must have {JWT_SECRET_BYTES_MIN} bytes or more")
        if self.rate_limit is not None:
            try:
                limit = parse(self.rate_limit)
            except ValueError as error:
                raise ValueError(f"rate_limit must have the form 100/minute, not {self.rate_limit!r}") from error
            if limit.amount < 1:
                raise ValueError(f"rate_limit must allow 1 request or more, not {self.rate_limit!r}")
