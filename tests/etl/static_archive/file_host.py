"""A file host with range requests, as of any static web server. It counts requests and the bytes that it sends."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class FileHost:
    """Serves a folder on the loopback interface. `has_ranges`: False for a server that ignores them."""

    def __init__(self, folder: Path, *, has_ranges: bool = True) -> None:
        self.requests: list[tuple[str, int]] = []
        host = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._answer(has_body=False)

            def do_GET(self) -> None:
                self._answer(has_body=True)

            def _answer(self, *, has_body: bool) -> None:
                path = folder / self.path.lstrip("/")
                if not path.is_file():
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    host.requests.append((self.path, 0))
                    return
                size = path.stat().st_size
                start, end, wanted = 0, size, self.headers.get("Range")
                if wanted and has_ranges:
                    first, _, last = wanted.removeprefix("bytes=").partition("-")
                    start, end = (int(first), min(size, int(last) + 1 if last else size)) if first else (
                        size - int(last), size
                    )  # fmt: skip
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
                else:
                    self.send_response(200)
                self.send_header("Content-Length", str(end - start))
                self.send_header("Accept-Ranges", "bytes")
                self.end_headers()
                host.requests.append((self.path, end - start if has_body else 0))
                if has_body:
                    with path.open("rb") as file:
                        file.seek(start)
                        self.wfile.write(file.read(end - start))

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def counted(self) -> tuple[int, int]:
        """Requests and bytes since the last call."""
        found, self.requests = self.requests, []
        return len(found), sum(size for _, size in found)
