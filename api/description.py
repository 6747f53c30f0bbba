"""The prose of the OpenAPI document: what the server is, where its operations are, and what each family is for."""

CHRYSALIS_EXAMPLE = "permatest-1"
STARDUST_EXAMPLE = "permatest-2"
WORMHOLE_EXAMPLE = "wormhole-mainnet"
"""The networks of `permanode demo`. Every example of the document is in their sample data."""

STARDUST_ADDRESSES = {
    "bech32": "tst1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j92xx7de2",
    "bech32-alias": "tst1pq6np4v83jfvm4vkru97jw728sp4k6fyg7sjnxwzl6gw9uf5fndsge907r5",
    "bech32-any": "tst1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j92xx7de2",
    "bech32-list": "tst1qruscrv5l22f7daxl3dha90m005sl9tmc6eta5zzlgmquvdem3j92xx7de2",
}
"""Format → an address of the Stardust example network; those of the parameters are of the Chrysalis one."""

DESCRIPTION = f"""\
The complete history of IOTA ledgers (Chrysalis and Stardust) and of Wormhole, from an archive that never prunes.

**Paths.** This document describes each operation once, at its path with the name of a network: `/api/{{network}}/…`.
`GET /api/routes` lists the networks of a server. Most operations are also served at the paths that existing clients
use. Their descriptions and the extension `x-aliases` list these paths. Requests and responses are the same, except for
the parameters whose descriptions name an alias. A path without a network answers for the network that the server's
operator chose:

| Paths | Clients | Network |
|---|---|---|
| `/api/v1`, `/api/core/v1` | IOTA nodes and clients of Chrysalis (HORNET 1.x, iota.js, iota.rs) | the default network |
| `/api/{{network}}` | Chronicle and its clients; their keyspace is the network | the network in the path |
| `/api/core/v2`, `/api/indexer/v1`, `/api/poi/v1` | IOTA nodes and clients of Stardust (HORNET 2.x, iota-sdk) \
| `api.stardust_network`, else the default network |
| `/api/supply/v1`, `/api/participation/v1` | the IOTA explorer | the same |
| `/api/explorer/v2`, `/api/analytics/v2` | inx-chronicle and its explorer | the same |
| `/v1` | Wormhole guardians and SDKs | `api.wormhole_network`, else the first Wormhole network |
| `/api/wormhole/v1`, `/api/wormhole/events` | Wormholescan clients; the BigTable event functions | the same |
| `/api/v1`, operations of Wormholescan | clients of `https://api.wormholescan.io` | the default network, if it is a \
Wormhole network |

**Generated clients.** A client generated from this document has one function per operation. The base URL is the
server's address, without a path or with the one in `servers`; `network` is the first argument.

**Credentials.** Servers with the setting `api.keys` or `api.jwt_secret` require one of the security schemes, except for
`/health`. Other servers ignore credentials.

**Examples.** The examples use the sample data of `permanode demo`: the networks `{CHRYSALIS_EXAMPLE}` (Chrysalis),
`{STARDUST_EXAMPLE}` (Stardust) and `{WORMHOLE_EXAMPLE}`.

**Errors.** Each family uses the error body of its original API. 404 means that the archive does not contain the object,
501 that the archive does not keep this kind of data.
"""

TAGS = {
    "server": "Health of the server and the list of its networks.",
    "search": "What a text names: ids, addresses, tags, milestones, dates, in one network or in all.",
    "node REST v1": "The REST API of Chrysalis nodes (HORNET 1.x): messages, outputs, addresses, milestones.",
    "core API v2": "The REST API of Stardust nodes (TIP-25): blocks, outputs, milestones, treasury, receipts.",
    "explorer v2": "The explorer API of inx-chronicle: blocks by tag, ledger updates, balances, richest addresses.",
    "analytics v2": "The analytics API of inx-chronicle, and series per milestone, hour and day.",
    "transparency log": "An append-only log of milestones and trees of listings, as C2SP tlog-tiles, and its proofs.",
    "proofs of listings": "Proofs that a listing is complete, which verify without this server.",
    "proof of inclusion": "Proofs that a milestone references or applied a block (inx-poi). Create and validate them.",
    "events": "Milestones, messages by tag or address, and outputs, from any milestone on, also as a live stream.",
    "indexer": "Stardust outputs by address, tag, condition and age (TIP-26), and the same lists with spent outputs.",
    "supply": "The circulating supply, as inx-supply-tracker serves it to the IOTA explorer.",
    "participation": "Events, votes and rewards of inx-participation: 501, because no table has votes.",
    "Chronicle v1": "Operations that only Chronicle has: transactions of an address, sums, sync state.",
    "guardian gateway": "The public REST API of Wormhole guardians: signed VAAs and the current guardian set.",
    "wormholescan": "The REST API of Wormholescan: VAAs, observations, operations, transactions and statistics.",
    "event database": "The functions of Wormhole's BigTable event database: rows, totals, notional values.",
}
"""Tag → what the family is for, in the order of /docs."""
