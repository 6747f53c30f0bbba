"""docs/limits.md: the limits of a request and of a connection, with their numbers from the code."""

from api.analytics_v2.routes import CHANGES_MAX, SUMMED_MAX
from api.explorer_v2 import statement_routes, token_routes
from api.explorer_v2.ledger_routes import OUTPUTS_MAX
from api.fields.inx_chronicle_params import SKIPPED_MAX
from api.handlers.listing_proofs import FAMILIES_MOST, ROWS_MOST
from api.http.content_negotiation import ACCEPT_MAX_BYTES
from api.http.moving_window import KEYS_MAX
from api.http.page_sizes import FAMILIES, MAXIMUM
from api.mqtt.client import CONNECT_S, PINGS_PER_REQUEST
from api.mqtt.hub import BACKLOG_MAX_BYTES, MESSAGES_AT_ONCE, SLOW_S
from api.mqtt.packets import CONNECT_MAX_BYTES, PACKET_MAX_BYTES, TOPICS_MAX
from api.poi_v1.routes import BODY_MAX_BYTES, CONE_MAX
from api.wormhole.events.address_routes import ADDRESSES_MAX, DATED_MAX
from api.wormhole.events.functions import BODY_MAX_BYTES as POSTED_MAX_BYTES
from api.wormhole.events.params import ROWS_MAX
from api.wormhole.events.row_routes import GROUPS_MAX, RECENT_MAX
from api.wormhole.events.sum_routes import COUNTS_MAX
from api.wormhole.params import CHAINS_MAX
from api.wormhole.params import SKIPPED_MAX as VAAS_SKIPPED_MAX
from api.wormhole.scan.routes import BODY_MAX_BYTES as VAA_MAX_BYTES
from cli.connections import HEADERS_MAX, PIPELINED_MAX
from cli.granian_limits import SWEEP_WEBSOCKETS_S, TICK_S
from cli.websocket import WEBSOCKET_MAX_BYTES
from db.admin.wormhole_status import EXAMINED as STATUS_ROWS
from db.listing.page import EXAMINED_AT_LEAST, EXAMINED_PER_ROW
from db.listing.turns import LONG_AT_ONCE, SHORT_SLICES, SLICE_S
from db.queries.milestones import CONE_AT_ONCE
from db.queries.series import EXAMINED
from db.queries.wormhole.hours import ROWS_MAX as HOURS_MAX


def limits_page() -> str:
    """docs/limits.md: the limits of a request."""
    text = _HEAD
    text += f"\n| family | above {MAXIMUM} | zero | negative | not an integer |\n|---|---|---|---|---|\n"
    for name, sizes in FAMILIES.items():
        text += f"| {name} | {sizes.above} | {sizes.zero} | {sizes.negative} | {sizes.unreadable} |\n"
    return text + _WORK.format(
        slice=f"{1000 * SLICE_S:.0f}",
        short=SHORT_SLICES,
        long=LONG_AT_ONCE,
        headers=HEADERS_MAX,
        tick=f"{1000 * TICK_S:.0f}",
        message=WEBSOCKET_MAX_BYTES,
        websockets=f"{1000 * SWEEP_WEBSOCKETS_S:.0f}",
        accept=ACCEPT_MAX_BYTES,
        pipelined=PIPELINED_MAX,
        per_row=EXAMINED_PER_ROW,
        at_least=EXAMINED_AT_LEAST,
        body=BODY_MAX_BYTES,
        cone=CONE_MAX,
        at_once=CONE_AT_ONCE,
        outputs=OUTPUTS_MAX,
        outputs_of_token=token_routes.OUTPUTS_MAX,
        accounts=statement_routes.ADDRESSES_MAX,
        skipped=SKIPPED_MAX,
        families=FAMILIES_MOST,
        proved=ROWS_MOST,
        summed=SUMMED_MAX,
        changes=CHANGES_MAX,
        examined=EXAMINED,
        vaas_skipped=VAAS_SKIPPED_MAX,
        vaas_read=EXAMINED_PER_ROW * VAAS_SKIPPED_MAX,
        chains=CHAINS_MAX,
        groups=GROUPS_MAX,
        recent=RECENT_MAX,
        found=ROWS_MAX,
        status=STATUS_ROWS,
        hours=HOURS_MAX,
        counts=COUNTS_MAX,
        addresses=ADDRESSES_MAX,
        dated=DATED_MAX,
        vaa=VAA_MAX_BYTES,
        posted=POSTED_MAX_BYTES,
        keys=KEYS_MAX,
        topics=TOPICS_MAX,
        packet=PACKET_MAX_BYTES,
        connect_bytes=CONNECT_MAX_BYTES,
        pings=PINGS_PER_REQUEST,
        backlog=BACKLOG_MAX_BYTES,
        messages=MESSAGES_AT_ONCE,
        slow=f"{SLOW_S:.0f}",
        connect=f"{CONNECT_S:.0f}",
    )


_HEAD = """\
# Limits

Every request has limits. At a limit the response is a 400 that names the parameter, a page with a `state` for the
rest, a 501 or a 503.

## Page size

The table shows the effect of an invalid `page_size`. It depends on the API family: 400, the default or the maximum,
like the original API.

- `/api/v1`, `/api/core/v1`: nodes had no page size. The parameter is an extension of this server; invalid values are a
  400. The same applies to the receipts of core v2.
- `/api/{network}`: Chronicle ignored invalid values and had no maximum. Old clients can send any value.
- The `pageSize` of node REST v1 behaves like inx-api-core-v1 under every prefix, that of the indexer like inx-indexer.

The default is 1000. At `/api/{network}` it is 100 for the children of a message and for outputs and transactions of an
Ed25519 address, like Chronicle's. Explorer v2 and analytics v2 use 100. Their cursors and those of the indexer contain
the page size, which overrides the parameter.
"""

_WORK = """
## Unknown parameters

A repeated parameter is a 400 in all families. A parameter that an operation does not have is a 400 that lists the known
ones in explorer v2, analytics v2, the routes of the Stardust schema plan and the extensions of this server. The other
operations ignore it, as the programs do that they imitate. The exception is a parameter that another operation of the
same protocol has, such as `include-spent` on the indexer: every operation rejects it, except those that always return
501. Fields of posted objects in the event database are treated in the same way.

## Rows

A page reads one row beyond its size, to find out whether it is the last one. If a filter drops rows, the page reads at
most {per_row} rows per row of its size (at least {at_least}). Then it returns the rows so far and a `state` (`cursor`
in the indexer). Only such a page can be short or empty without being the last one.

With all lookups a listing reads at most ten rows per row of its page size (pages below 100 count as 100); the test
suite counts them. Once per process, the server also reads 256 rows per kind of output to find unspent genesis outputs.
A proof (`proof=complete`) reads the rows of its page up to three times more, and at most 256 others in each interval
of the page.

| request | limit | above |
|---|---|---|
| balance of explorer v2 | {outputs} unspent outputs; in a past state three times as many that it ever had | 501 |
| holders of a native token | {outputs_of_token} unspent outputs with it | 501 |
| statement | {accounts} addresses | 400 |
| children of explorer v2 by page number | first {skipped} children; use the cursor beyond | 400 |
| proof of a page that merges listings | {families} kinds of outputs and roles | 400 |
| proof of a page whose milestones have other timestamps between them | {proved} rows between its ends | 400 |
| activity of analytics v2 | {summed} milestones | 501 |
| distinct addresses in analytics v2 | {changes} created and spent outputs | 501 |
| series by hour, or by day if not stored per day | {examined} milestones per page | the page ends with that day |
| series by milestone, if timestamps do not rise | {examined} milestones per page, read 101 at a time | the page ends |
| wormholescan pages by number | first {vaas_skipped} results, and {vaas_read} rows if filtered; use the cursor | 400 |
| wormholescan operations | {chains} source chains | 400 |
| wormholescan activity by hour | {hours} messages per day | 501 |
| event function `recent` | {groups} contracts and {recent} rows | 501 |
| event functions with sums and counts by date | {counts} numbers | 501 |
| event functions with addresses | {addresses} rows of days; {dated} numbers by date | 501 |
| event function `findvalues` | {found} rows | 501 |
| `permanode status` of a Wormhole network | first {status} rows of VAAs | the rest is not examined |

Some responses have no pages. The `utxo-changes` of a milestone contain a row for each input and output of its
transactions. Chronicle's transactions contain the spender of each output, up to 127. Sums of all time read every day
since the start of Wormhole. CSV and NDJSON contain the whole history or series: they read 1000 rows at a time (hours:
one day; stored days: all), each within the timeout of a request.

## Time

The timeout of a request is `api.deadline_s` seconds. Then the server interrupts its statement and responds with 503;
the connection is free for the next request.

A request gives way to others after {slice} ms of work. After {short} such slices it is long: each worker has at most
{long} long requests under way, and the others wait, until their timeout. This bounds how long one request delays
another ([figures](performance.md#attacks-permanode-bench-attack)). An SQLite file larger than half of the memory is
read in threads.

## Connections

These limits apply before a request has credentials.

| of a worker, or of a connection | limit | above |
|---|---|---|
| connections, with MQTT and event streams | `api.connections` | see below |
| head of a request: URL and headers | `api.head_bytes` | 431; a URL, with granian, 414 |
| headers of a request | {headers} | 431 |
| `Accept`, `Accept-Encoding` | {accept} bytes each | 431 |
| time until the head is complete | `api.head_s` | 408; without any byte closed |
| time until the next request on a connection | `api.keep_alive_s` | closed |
| bytes of a WebSocket without a message, pings included | {message} | disconnected |
| requests behind another one of their connection | {pipelined} | closed; with granian not read |
| time without reading a response | `api.send_s` | closed |
| large responses that wait for clients | `api.unsent_bytes` in total | the slowest client is disconnected |

Beyond the maximum of connections, the one that has waited longest for a head or a request is closed for a new one; if
all have requests, the new one gets a 503. This is logged, and so are clients disconnected for not reading a large
response. The server raises its limit of open files as far as its hard limit allows. With 1024 open files it accepts 832
connections, and 128 more wait in the kernel.

The limits hold with both HTTP servers ([0046](decisions/0046-http-servers.md)). With granian:

- The number of connections is compared with its maximum every {tick} ms. New ones wait until then.
- Times are checked once a second. The time of a later head, with the time before it, is the sum of both.
- The kernel disconnects clients that do not read, so only those of large responses are logged.
- A WebSocket message may have 64 MiB, if it comes within the {websockets} ms between two looks at the bytes that came.

A client counts as reading if it takes about 170 kB within `api.send_s`, because the kernel keeps 256 KiB for each
client. A worker needs the memory of its idle process, that of its long requests (up to about 150 MB each), and at most
twice `api.unsent_bytes`.

## Rate limit

With `api.rate_limit`, each client address may send that many requests in a moving window. Rejected ones do not count.
An IPv6 client is its /64 network, an IPv4-mapped IPv6 address the IPv4 address. A worker remembers at most {keys}
clients. Above that it forgets the one that has been silent for longest, which then has its whole limit again.

## Sizes

| input | limit | otherwise |
|---|---|---|
| index | 1 to 64 bytes (TIP-6) | 400 |
| `state`, `cursor` | 1024 characters | 400 |
| body of a proof of inclusion to validate | {body} bytes | 413 |
| body of a VAA to parse | {vaa} bytes | 413 |
| body of a function of the event database | {posted} bytes | 413 |
| messages of the milestone of a proof of inclusion | {cone}, read {at_once} rows at a time | 501 |

The body must arrive within the timeout of the request. Bodies of other requests are not read. A path over {cone}
messages took an eighth of a second on one core, over a thousand 1.3 ms.

## Input files

Lines and compressed files have limits, too: [input files](sources.md#limits-and-rejects).

## MQTT

| of a client, or of a worker | limit | above |
|---|---|---|
| connections of a worker | `api.mqtt_connections` | 503 |
| subscriptions, and topics of a packet | {topics} | disconnected (1008) |
| CONNECT | {connect_bytes} bytes | disconnected (1002) |
| SUBSCRIBE, UNSUBSCRIBE | {packet} bytes | disconnected (1002) |
| waiting for a client | {backlog} bytes and the packets of {messages} messages, for {slow} s | disconnected (1013) |
| until CONNECT | {connect} s | disconnected (1002) |
| handshakes, SUBSCRIBEs, UNSUBSCRIBEs, and every {pings}th PINGREQ | `api.rate_limit` | 429; disconnected (1008) |

A turn of the event loop handles one packet of each client, however many packets a WebSocket message contains.
A client that sends nothing for one and a half times its keep-alive time is disconnected (1002). The numbers are close
codes of WebSocket.
"""
