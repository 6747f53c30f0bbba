"""iota-client-python 0.2.0a26, the Rust client of Chrysalis, with this server as its only node and as its permanode."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Any

import pytest

from tests.api.oracle import Oracle
from tests.clients import bodies, rust_json
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import HERE, IOTA_CLIENT_WHEELS, find_interpreter, python_programs

pytestmark = pytest.mark.clients

UNORDERED = ("find_messages", "get_message_index")
"""Methods whose results the client reorders, differently each time."""


def seed(oracle: Oracle) -> str:
    """The seed of the ledger's wallet (BIP-39)."""
    return pbkdf2_hmac("sha512", oracle.expected["mnemonic"].encode(), b"mnemonic", 2048).hex()


def get_message_data(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), rust_json.message(oracle, entry)) for entry in oracle.entries]


def get_message_metadata(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), rust_json.metadata(entry["metadata"])) for entry in oracle.entries]


def get_message_raw(oracle: Oracle) -> ApiRequests:
    """Bytes as text with invalid UTF-8 replaced, as this client does."""
    return [((entry["id"],), bytes.fromhex(entry["bytes_hex"]).decode("utf-8", "replace")) for entry in oracle.entries]


def get_message_children(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), oracle.children.get(entry["id"], [])) for entry in oracle.entries]


def texts(oracle: Oracle) -> list[str]:
    """The indices that are text; this client accepts no others."""
    return [bytes.fromhex(tag).decode() for tag in oracle.tagged if bytes.fromhex(tag).isascii()]


def get_message_index(oracle: Oracle) -> ApiRequests:
    return [((text,), oracle.tagged[text.encode().hex()]) for text in texts(oracle)]


def find_messages(oracle: Oracle) -> ApiRequests:
    by_id = {entry["id"]: entry for entry in oracle.entries}
    for text in texts(oracle):
        ids = oracle.tagged[text.encode().hex()]
        yield ([text],), [rust_json.message(oracle, by_id[message_id]) for message_id in ids]


def get_included_message(oracle: Oracle) -> ApiRequests:
    return [((key,), rust_json.message(oracle, entry)) for key, entry in oracle.included.items()]


def get_output(oracle: Oracle) -> ApiRequests:
    return [((output_id,), rust_json.output(oracle, each)) for output_id, each in oracle.outputs.items()]


def get_address_outputs(oracle: Oracle) -> ApiRequests:
    for account in oracle.expected["addresses"]:
        for kind, name in (None, None), (0, "SignatureLockedSingle"), (1, "SignatureLockedDustAllowance"):
            for spent in (False, True):
                ids = oracle.address_outputs(account["address"], output_type=kind, include_spent=spent)
                options = {"include_spent": spent, "output_type": name}
                yield (account["bech32"], options), [rust_json.output_id(output_id) for output_id in ids]


def get_milestone(oracle: Oracle) -> ApiRequests:
    for line in oracle.milestones:
        node = bodies.milestone(line)
        answer = {"index": node["index"], "timestamp": node["timestamp"], "message_id": node["messageId"]}
        yield (node["index"],), answer


def get_milestone_utxo_changes(oracle: Oracle) -> ApiRequests:
    for line in oracle.milestones:
        node = line["milestone"]["utxoChanges"]
        created, consumed = node["createdOutputs"], node["consumedOutputs"]
        yield (node["index"],), {"index": node["index"], "created_outputs": created, "consumed_outputs": consumed}


def get_unspent_address(oracle: Oracle) -> ApiRequests:
    """The first address of the wallet that has no output."""
    unused = next(each for each in oracle.expected["addresses"] if not each["unspentOutputIds"])
    return [((seed(oracle),), [unused["bech32"], unused["index"]])]


def get_balance(oracle: Oracle) -> ApiRequests:
    return [((seed(oracle),), sum(account["balance"] for account in oracle.expected["addresses"]))]


def get_address_balance(oracle: Oracle) -> ApiRequests:
    return [((account["bech32"],), rust_json.balance(account)) for account in oracle.expected["addresses"]]


def get_treasury(oracle: Oracle) -> ApiRequests:
    treasury = oracle.expected["treasury"]
    return [((), {"milestone_id": treasury["milestoneId"], "amount": treasury["amount"]})]


def get_receipts_migrated_at(oracle: Oracle) -> ApiRequests:
    indices = sorted({each["receipt"]["migratedAt"] for each in oracle.expected["receipts"]})
    for index in indices:
        yield (index,), [rust_json.receipt(each) for each in bodies.receipts(oracle, index)["receipts"]]


REQUESTS: dict[str, Callable[[Oracle], ApiRequests]] = {
    "get_health": lambda _: [((), True)],
    "get_info": lambda oracle: [((), rust_json.info(bodies.info(oracle), "http://127.0.0.1"))],
    "get_message_data": get_message_data,
    "get_message_metadata": get_message_metadata,
    "get_message_raw": get_message_raw,
    "get_message_children": get_message_children,
    "get_message_index": get_message_index,
    "find_messages": find_messages,
    "get_included_message": get_included_message,
    "get_output": get_output,
    "get_address_outputs": get_address_outputs,
    "get_address_balance": get_address_balance,
    "get_balance": get_balance,
    "get_unspent_address": get_unspent_address,
    "get_milestone": get_milestone,
    "get_milestone_utxo_changes": get_milestone_utxo_changes,
    "get_treasury": get_treasury,
    "get_receipts": lambda oracle: [((), [rust_json.receipt(each) for each in oracle.expected["receipts"]])],
    "get_receipts_migrated_at": get_receipts_migrated_at,
}
"""Method of the client → its arguments and the expected results."""

OF_A_PERMANODE = (
    "get_message_data",
    "get_message_metadata",
    "get_message_raw",
    "get_message_children",
    "get_message_index",
    "find_messages",
    "get_included_message",
    "get_output",
    "get_address_outputs",
    "get_milestone",
)
"""The methods for which the client queries a permanode before a node."""

SPREAD = 7
"""One call of that many goes to a permanode: it returns what a node returns, and this client takes its time."""


@pytest.fixture(scope="module")
def python(cache: Path) -> str:
    """An interpreter that can import the client: one like this, else another one on this machine."""
    interpreter = find_interpreter("iota-client-python", IOTA_CLIENT_WHEELS)
    return str(python_programs(cache, "iota_client", interpreter) / "python")


def check(python: str, method: str, api_requests: ApiRequests, node: str, permanode: str = "") -> None:
    client = Driver((python, str(HERE / "drivers" / "rust_client.py"), node, permanode))
    client.check(method, api_requests, ordered=method not in UNORDERED)


@pytest.mark.parametrize("method", REQUESTS)
def test_we_are_its_only_node(python: str, server: str, oracle: Oracle, method: str) -> None:
    check(python, method, REQUESTS[method](oracle), node=server)


def test_an_error_reaches_it_with_status_and_message(python: str, server: str) -> None:
    client = Driver((python, str(HERE / "drivers" / "rust_client.py"), server, ""))
    (found,) = client.ask([["get_milestone", 51]])
    assert found["refused"] == 404
    assert json.loads(found["message"])["error"]["message"] == "milestone 51 is not in this archive"


@pytest.fixture
def empty_node(oracle: Oracle) -> Iterator[tuple[str, list[str]]]:
    """A node that only knows itself, and the requests for anything else that it received."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/api/v1/info"
            if not known:
                requests.append(self.path)
            answer = {"data": oracle.expected["info"]} if known else {"error": {"code": "404", "message": "pruned"}}
            body = json.dumps(answer).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as node:
        thread = threading.Thread(target=node.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{node.server_port}", requests
        node.shutdown()
        thread.join()


@pytest.mark.parametrize("method", OF_A_PERMANODE)
def test_we_are_its_permanode_and_its_node_knows_nothing(
    python: str, server: str, oracle: Oracle, empty_node: tuple[str, list[str]], method: str
) -> None:
    node, requests = empty_node
    api_requests = [
        api_request for api_request in REQUESTS[method](oracle) if is_for_a_permanode(method, *api_request[0])
    ]
    check(python, method, api_requests[::SPREAD], node, permanode=f"{server}/api/{oracle.expected['network']}/")
    assert requests == []


def is_for_a_permanode(method: str, key: Any, *_: Any) -> bool:
    """Excludes outputs whose index has a hex letter (10, say): the client does not recognize their permanode path."""
    return method != "get_output" or key[64:].isdecimal()
