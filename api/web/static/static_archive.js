// Client of a static archive: finds messages, transactions, outputs and milestones by id, and proves listings complete,
// over HTTP with range requests, or in Node at file:// URLs. One file, no dependency: the decoder at its end is a copy of
// fzstd.
//
//   const archive = await openArchive("https://example.org/mainnet");
//   const found = await archive.find("049b456b…");
//   const document = await archive.proveListing("ledger_updates_by_address", "00…");

const FORMAT = "permanode-static-archive-1", MANIFEST = "manifest.json", MANIFEST_MOST = 16 << 20;
const READS = [2048, 4096, 6144, 8192, 14336, 20480, 27648, 36864];
const UNIT = 128, ENTRY_BYTES = 7, CLASS_BITS = 3n, WORD = (1n << 64n) - 1n, UNPACKED_MOST = 1 << 17;
const CHRYSALIS_MESSAGE = 0, STARDUST_BLOCK = 1, STARDUST_MILESTONE = 2, UNKNOWN_STATE = 255, NO_REASON = -1;
const CONFLICTING = 2, SKIPPABLE = 0x184d2a50, BLOCK_MAGIC = 0x31626d70;

/** A file has other bytes than the format allows, or the server has no range requests. */
export class ArchiveError extends Error {}

const need = (condition, text) => {
  if (!condition) throw new ArchiveError(text);
};

const bytesOf = (hex) => {
  const digits = hex.startsWith("0x") ? hex.slice(2) : hex;
  need(/^([0-9a-f]{2})*$/i.test(digits), "hex digits expected");
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(2 * at, 2 * at + 2), 16));
};

const same = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

// ---- BLAKE2b-256 (RFC 7693), on halves of 32 bits: the low half of word n is at 2n

const IV = Uint32Array.of(
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
);
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => [...row].map((digit) => 2 * parseInt(digit, 16)));
const LANES = [
  [0, 8, 16, 24], [2, 10, 18, 26], [4, 12, 20, 28], [6, 14, 22, 30],
  [0, 10, 20, 30], [2, 12, 22, 24], [4, 14, 16, 26], [6, 8, 18, 28],
];

const add = (v, a, low, high) => {
  const sum = v[a] + low;
  v[a + 1] += high + (sum > 0xffffffff ? 1 : 0);
  v[a] = sum;
};

const compress = (state, block, count, isLast) => {
  const view = viewOf(block), words = Uint32Array.from({ length: 32 }, (_, at) => view.getUint32(4 * at, true));
  const v = new Uint32Array(32);
  v.set(state);
  v.set(IV, 16);
  v[24] ^= count;
  if (isLast) {
    v[28] = ~v[28];
    v[29] = ~v[29];
  }
  for (let round = 0; round < 12; round++) {
    const order = SIGMA[round % 10];
    for (let lane = 0; lane < 8; lane++) {
      const [a, b, c, d] = LANES[lane], x = order[2 * lane], y = order[2 * lane + 1];
      add(v, a, v[b], v[b + 1]);
      add(v, a, words[x], words[x + 1]);
      let low = v[d] ^ v[a], high = v[d + 1] ^ v[a + 1];
      v[d] = high;
      v[d + 1] = low;
      add(v, c, v[d], v[d + 1]);
      (low = v[b] ^ v[c]), (high = v[b + 1] ^ v[c + 1]);
      v[b] = (low >>> 24) ^ (high << 8);
      v[b + 1] = (high >>> 24) ^ (low << 8);
      add(v, a, v[b], v[b + 1]);
      add(v, a, words[y], words[y + 1]);
      (low = v[d] ^ v[a]), (high = v[d + 1] ^ v[a + 1]);
      v[d] = (low >>> 16) ^ (high << 16);
      v[d + 1] = (high >>> 16) ^ (low << 16);
      add(v, c, v[d], v[d + 1]);
      (low = v[b] ^ v[c]), (high = v[b + 1] ^ v[c + 1]);
      v[b] = (high >>> 31) ^ (low << 1);
      v[b + 1] = (low >>> 31) ^ (high << 1);
    }
  }
  for (let at = 0; at < 16; at++) state[at] ^= v[at] ^ v[at + 16];
};

/** The BLAKE2b-256 of bytes: the id of a message or payload. */
export const blake2b256 = (data) => {
  const state = Uint32Array.from(IV);
  state[0] ^= 0x01010020;
  let at = 0;
  for (; data.length - at > 128; at += 128) compress(state, data.subarray(at, at + 128), at + 128, false);
  const last = new Uint8Array(128);
  last.set(data.subarray(at));
  compress(state, last, data.length, true);
  const digest = new Uint8Array(32);
  state.subarray(0, 8).forEach((half, place) => viewOf(digest).setUint32(4 * place, half, true));
  return digest;
};

// ---- Reading

class HttpReader {
  constructor(url) {
    this.url = url.replace(/\/+$/, "");
  }

  async whole(name, most) {
    const response = await fetch(`${this.url}/${name}`);
    need(response.ok, `${this.url}/${name}: status ${response.status}`);
    const data = new Uint8Array(await response.arrayBuffer());
    need(data.length <= most, `${this.url}/${name}: at most ${most} bytes expected`);
    return data;
  }

  async part(name, start, size) {
    const response = await fetch(`${this.url}/${name}`, { headers: { Range: `bytes=${start}-${start + size - 1}` } });
    if (response.status !== 206) {
      await response.body?.cancel();
      throw new ArchiveError(`${this.url}/${name}: a server with range requests expected, status ${response.status}`);
    }
    const data = new Uint8Array(await response.arrayBuffer());
    need(data.length <= size, `${this.url}/${name}: ${size} bytes expected`);
    return data;
  }
}

class FileReader {
  constructor(url) {
    this.url = url.replace(/\/+$/, "");
  }

  async whole(name, most) {
    const data = await this.part(name, 0, most + 1);
    need(data.length <= most, `${this.url}/${name}: at most ${most} bytes expected`);
    return data;
  }

  async part(name, start, size) {
    const { open } = await import("node:fs/promises");
    const file = await open(new URL(`${this.url}/${name}`));
    try {
      const length = Math.max(0, Math.min(size, (await file.stat()).size - start));
      const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, start);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }
}

// ---- Index

const product = (words, key) =>
  words.reduce((sum, word, at) => sum + word * BigInt(viewOf(key).getUint32(4 * at, true)), 0n) & WORD;

class Index {
  constructor(value) {
    const words = value.coefficients.map((word) => BigInt(`0x${word}`));
    need(words.length === 16, "16 coefficients of an index expected");
    Object.assign(this, { name: value.name, size: value.size, slots: value.slots, reach: value.reach });
    this.offsetBits = BigInt(value.offset_bits);
    this.places = words.slice(0, 8);
    this.prints = words.slice(8);
  }

  place(key) {
    return Number(((product(this.places, key) >> 32n) * BigInt(this.slots)) >> 32n);
  }

  find(key, window) {
    const upperBits = this.offsetBits + CLASS_BITS + 1n;
    const wanted = product(this.prints, key) >> (64n - (BigInt(8 * ENTRY_BYTES) - upperBits));
    const found = [];
    for (let at = 0; at + ENTRY_BYTES <= window.length; at += ENTRY_BYTES) {
      const entry = window.subarray(at, at + ENTRY_BYTES).reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
      if (entry === 0n) break;
      if (entry >> upperBits !== wanted) continue;
      const upper = entry >> this.offsetBits;
      found.push({
        position: (Number(entry & ((1n << this.offsetBits) - 1n)) - 1) * UNIT,
        size: READS[Number(upper & ((1n << CLASS_BITS) - 1n))],
        isConflicting: Boolean((upper >> CLASS_BITS) & 1n),
      });
    }
    return found;
  }
}

// ---- Blocks

const unpackBlock = (data, name) => {
  need(data.length >= 14 && viewOf(data).getUint32(0, true) === SKIPPABLE, `${name}: a block expected`);
  const start = 8 + viewOf(data).getUint32(4, true), size = viewOf(data).getUint32(8, true);
  const frame = data.subarray(start, start + size);
  need(frame.length === size, `${name}: a block of ${size} bytes expected`);
  try {
    const raw = fzstd.decompress(frame);
    need(raw.length <= UNPACKED_MOST, `${name}: at most ${UNPACKED_MOST} bytes of a block expected`);
    return raw;
  } catch (error) {
    throw new ArchiveError(`${name}: a readable block expected: ${error.message}`);
  }
};

const recordsOf = (raw, name) => {
  const view = viewOf(raw), records = [];
  need(raw.length >= 16 && view.getUint32(0, true) === BLOCK_MAGIC, `${name}: a block with its records expected`);
  const milestoneIndex = view.getUint32(4, true), first = view.getUint32(8, true), count = view.getUint32(12, true);
  let at = 16 + 8 * count;
  need(at <= raw.length, `${name}: a block with its records expected`);
  for (let place = 0; place < count; place++) {
    const head = 16 + 8 * place, size = view.getUint32(head + 4, true);
    const state = view.getUint8(head + 1), reason = view.getInt16(head + 2, true);
    records.push({
      kind: view.getUint8(head),
      milestoneIndex,
      position: first + place,
      inclusionState: state === UNKNOWN_STATE ? null : state,
      conflictReason: reason === NO_REASON ? null : reason,
      data: raw.subarray(at, at + size),
    });
    at += size;
  }
  need(at === raw.length, `${name}: a block with its records expected`);
  return records;
};

const payloadOf = ({ kind, data }) => {
  if (kind === STARDUST_MILESTONE) return data;
  let at = kind === CHRYSALIS_MESSAGE ? 8 : 1;
  at += 1 + 32 * data[at];
  return data.subarray(at + 4, at + 4 + viewOf(data).getUint32(at, true));
};

// The id of a Stardust milestone is the hash of its payload without type and signatures, each of which has 97 bytes.
const isMilestone = (payload, key) => {
  for (let count = 0, end = payload.length - 1; count < 256 && end > 4; count++, end -= 97) {
    if (payload[end] === count && same(blake2b256(payload.subarray(4, end)), key)) return true;
  }
  return false;
};

const match = (records, key) => {
  for (const record of records) {
    if (record.kind === STARDUST_MILESTONE) {
      if (isMilestone(record.data, key)) return { what: "milestone", record };
    } else if (same(blake2b256(record.data), key)) return { what: "message", record };
  }
  const own = records.filter((each) => each.kind !== STARDUST_MILESTONE && same(blake2b256(payloadOf(each)), key));
  if (own.length === 0) return null;
  const record = own.find((each) => each.inclusionState !== CONFLICTING) ?? own[0];
  const isMilestonePayload = record.kind === CHRYSALIS_MESSAGE && payloadOf(record)[0] === 1;
  return { what: isMilestonePayload ? "milestone" : "transaction", record };
};

const outputOf = ({ what, record }, index) => {
  if (what === "message") return null;
  if (what === "transaction") {
    const payload = payloadOf(record), view = viewOf(payload), isStardust = record.kind === STARDUST_BLOCK;
    let at = isStardust ? 13 : 5;
    at += 2 + 35 * view.getUint16(at, true) + (isStardust ? 32 : 0);
    if (index >= view.getUint16(at, true)) return null;
  }
  return { what: "output", record, outputIndex: index };
};

// ---- Listings: trees of keys over intervals of milestones, as in ledger/completeness

const SMALLEST = 100, FACTOR = 4, LEVELS = 8, GROUP = 16, HASH_BYTES = 32, TILE_LEAVES = 32, TILE_MOST = 8192;
const POSITION_BYTES = 6, PAGE_HEAD = 9, VALUE_BYTES = 4 + HASH_BYTES;

// The families and SHA-256 are those of listing_proof.js.

// Number, name, least and most bytes of a key, bytes of a row id.
const FAMILIES = [
  [1, "messages_by_tag", 0, 64, 36],
  [2, "messages_by_parent", 32, 32, 36],
  [16, "legacy_outputs_by_address", 33, 33, 70],
  [32, "basic_outputs_by_address", 33, 33, 70],
  [33, "basic_outputs_by_sender", 33, 33, 70],
  [34, "basic_outputs_by_storage_deposit_return", 33, 33, 70],
  [35, "basic_outputs_by_expiration_return", 33, 33, 70],
  [47, "basic_outputs_by_tag", 0, 64, 70],
  [48, "alias_outputs_by_sender", 33, 33, 70],
  [49, "alias_outputs_by_issuer", 33, 33, 70],
  [50, "alias_outputs_by_state_controller", 33, 33, 70],
  [51, "alias_outputs_by_governor", 33, 33, 70],
  [63, "alias_outputs_by_chain", 32, 32, 42],
  [64, "foundry_outputs_by_address", 33, 33, 70],
  [79, "foundry_outputs_by_chain", 38, 38, 42],
  [80, "nft_outputs_by_address", 33, 33, 70],
  [81, "nft_outputs_by_storage_deposit_return", 33, 33, 70],
  [82, "nft_outputs_by_sender", 33, 33, 70],
  [83, "nft_outputs_by_issuer", 33, 33, 70],
  [84, "nft_outputs_by_expiration_return", 33, 33, 70],
  [94, "nft_outputs_by_tag", 0, 64, 70],
  [95, "nft_outputs_by_chain", 32, 32, 42],
  [112, "ledger_updates_by_address", 33, 33, 39],
  [113, "transactions_by_address", 33, 33, 68],
].map(([number, name, keyLeast, keyMost, rowBytes]) => ({ number, name, keyLeast, keyMost, rowBytes }));

const firstBits = (root, prime) => Math.floor((root(prime) % 1) * 2 ** 32);
const PRIMES = Array.from({ length: 312 }, (_, each) => each)
  .filter((each) => each > 1 && ![2, 3, 5, 7, 11, 13, 17].some((divisor) => each > divisor && each % divisor === 0));
const START = PRIMES.slice(0, 8).map((prime) => firstBits(Math.sqrt, prime));
const ROUNDS = Uint32Array.from(PRIMES.slice(0, 64), (prime) => firstBits(Math.cbrt, prime));

const sha256 = (...parts) => {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const blocks = new Uint8Array(Math.ceil((size + 9) / 64) * 64);
  let offset = 0;
  for (const part of parts) {
    blocks.set(part, offset);
    offset += part.length;
  }
  blocks[size] = 0x80;
  const view = new DataView(blocks.buffer);
  view.setUint32(blocks.length - 8, Math.floor(size / 2 ** 29));
  view.setUint32(blocks.length - 4, (size * 8) >>> 0);
  const state = Uint32Array.from(START), words = new Uint32Array(64);
  const turn = (word, bits) => (word >>> bits) | (word << (32 - bits));
  for (let at = 0; at < blocks.length; at += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = words[i - 15], y = words[i - 2];
      const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3), s1 = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), choice = (e & f) ^ (~e & g);
      const t1 = (h + s1 + choice + ROUNDS[i] + words[i]) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + s0 + majority) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((each, i) => { state[i] += each; });
  }
  const digest = new Uint8Array(HASH_BYTES);
  const out = new DataView(digest.buffer);
  state.forEach((each, i) => out.setUint32(4 * i, each));
  return digest;
};

const joined = (parts) => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

const u32 = (value) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
const littleEndian = (bytes) => bytes.reduceRight((value, byte) => value * 256 + byte, 0);
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const base64Of = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const milestoneOf = (row) => viewOf(row).getUint32(0);

const compare = (one, other) => {
  const size = Math.min(one.length, other.length);
  for (let at = 0; at < size; at++) if (one[at] !== other[at]) return one[at] - other[at];
  return one.length - other.length;
};

/** The number of items before the first one that is not less than the wanted one. */
const lowerBound = (items, wanted) => {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(items[middle], wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
};

const leafHash = (data) => sha256(Uint8Array.of(0), data);
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

const split = (size) => {
  let half = 1;
  while (2 * half < size) half *= 2;
  return half;
};

const treeRoot = (hashes) => {
  if (hashes.length === 1) return hashes[0];
  const middle = split(hashes.length);
  return nodeHash(treeRoot(hashes.slice(0, middle)), treeRoot(hashes.slice(middle)));
};

// The subtrees [first, count] whose roots prove leaves, from left to right; and those of an audit path, from the leaf up.
const besideRange = (first, count, start, stop) => {
  if (stop <= first || start >= first + count) return [[first, count]];
  if (start <= first && stop >= first + count) return [];
  const left = split(count);
  return [...besideRange(first, left, start, stop), ...besideRange(first + left, count - left, start, stop)];
};

const besideLeaf = (size, index) => {
  const found = [];
  for (let first = 0, count = size; count > 1; ) {
    const left = split(count), isLeft = index < first + left;
    found.push(isLeft ? [first + left, count - left] : [first, left]);
    if (!isLeft) first += left;
    count = isLeft ? left : count - left;
  }
  return found.reverse();
};

const sizeOf = (level) => SMALLEST * FACTOR ** level;
const startOf = ({ level, number }) => number * sizeOf(level);
const endOf = ({ level, number }) => (number + 1) * sizeOf(level) - 1;

const coverOf = (first, end) => {
  const found = [];
  let start = (first <= 1 ? 0 : Math.ceil(first / SMALLEST)) * SMALLEST;
  while (start <= end) {
    let level = LEVELS - 1;
    while (level > 0 && (start % sizeOf(level) !== 0 || start + sizeOf(level) - 1 > end)) level--;
    found.push({ level, number: start / sizeOf(level) });
    start += sizeOf(level);
  }
  return found;
};

const decodePage = (data, name) => {
  need(data.length >= PAGE_HEAD, `${name}: a page of a directory expected`);
  const count = viewOf(data).getUint16(1, true), separators = [], positions = [];
  let at = PAGE_HEAD;
  for (let child = 0; child < count; child++) {
    const end = at + 1 + data[at];
    separators.push(data.subarray(at + 1, end));
    at = end + POSITION_BYTES;
    positions.push(littleEndian(data.subarray(end, at)));
  }
  need(at === data.length && count > 0, `${name}: a page of a directory expected`);
  positions.push(littleEndian(data.subarray(3, PAGE_HEAD)));
  return { depth: data[0], separators, positions };
};

const childOf = ({ separators, positions }, place) => {
  let at = lowerBound(separators, place);
  if (at === separators.length || compare(separators[at], place) > 0) at = Math.max(0, at - 1);
  return [positions[at], positions[at + 1]];
};

const bytesOfRows = ({ place, count }) => count * FAMILIES.find(({ number }) => number === place[0]).rowBytes;

// A tile: leaves with place, count and root, the hashes on its path, and where the rows of its keys begin in the file.
const decodeTile = (data, position, { name, keys }) => {
  need(data.length >= 8, `${name}: a tile expected at byte ${position}`);
  const view = viewOf(data), size = view.getUint16(4, true), end = 8 + size + view.getUint16(6, true), leaves = [];
  const number = view.getUint32(0, true), start = number * TILE_LEAVES;
  need(end <= data.length, `${name}: a tile expected at byte ${position}`);
  for (let at = 8; at < 8 + size; ) {
    const key = at + 3, keyEnd = key + (at + 3 <= 8 + size ? view.getUint16(at + 1) : size), stop = keyEnd + VALUE_BYTES;
    const isLeaf = stop <= 8 + size && FAMILIES.some((each) => each.number === data[at]) && view.getUint32(keyEnd) > 0;
    need(isLeaf, `${name}: a tile expected at byte ${position}`);
    leaves.push({
      place: joined([data.subarray(at, at + 1), data.subarray(key, keyEnd)]),
      count: view.getUint32(keyEnd),
      root: data.subarray(keyEnd + 4, stop),
      encoded: data.subarray(at, stop),
    });
    at = stop;
  }
  const path = [];
  for (let at = 8 + size; at < end; at += HASH_BYTES) path.push(data.subarray(at, at + HASH_BYTES));
  const isOfTree = leaves.length === Math.min(TILE_LEAVES, keys - start)
    && end - 8 - size === HASH_BYTES * besideLeaf(Math.ceil(keys / TILE_LEAVES), number).length;
  need(isOfTree, `${name}: a tile of ${keys} keys expected at byte ${position}`);
  return { number, start, stop: start + leaves.length, leaves, path, position, rowsAt: position + end, data };
};

const findIn = (tile, place) => tile.start + lowerBound(tile.leaves.map((leaf) => leaf.place), place);

const proveLeaves = (size, start, stop, tiles) => {
  const above = new Map();
  for (const { number, path } of tiles) {
    besideLeaf(Math.ceil(size / TILE_LEAVES), number).forEach(([first, count], at) => {
      const begin = first * TILE_LEAVES;
      above.set(`${begin} ${Math.min(count * TILE_LEAVES, size - begin)}`, path[at]);
    });
  }
  return besideRange(0, size, start, stop).map(([first, count]) => {
    const known = above.get(`${first} ${count}`);
    if (known !== undefined) return known;
    const tile = tiles.find((each) => each.start <= first && first < each.start + TILE_LEAVES);
    return treeRoot(tile.leaves.slice(first - tile.start, first - tile.start + count).map((leaf) => leafHash(leaf.encoded)));
  });
};

const groupsOf = (rows) => {
  const found = [];
  for (let at = 0; at < rows.length; at += GROUP) found.push(leafHash(joined(rows.slice(at, at + GROUP))));
  return found;
};

// What the rows of a key in an interval are made of: groups at level 0, above it the children that have some.
const divide = (interval, rows) => {
  if (interval.level === 0) return { count: rows.length, root: treeRoot(groupsOf(rows)), rows };
  const level = interval.level - 1, parts = new Map();
  for (const row of rows) {
    const number = Math.floor(milestoneOf(row) / sizeOf(level));
    if (!parts.has(number)) parts.set(number, []);
    parts.get(number).push(row);
  }
  const numbers = [...parts.keys()], children = numbers.map((number) => divide({ level, number }, parts.get(number)));
  if (children.length === 1) return children[0];
  const entries = children.flatMap((each, at) => [u32(numbers[at]), u32(each.count), each.root]);
  return { count: rows.length, root: sha256(Uint8Array.of(2, level), ...entries), level, numbers, children };
};

// The member `rows` of a document for the rows from `start` to before `stop`; null if the page has all of them.
const rowsJson = (divided, start, stop) => {
  const { count, root } = divided, begin = Math.max(0, start), end = Math.min(count, stop);
  if (begin >= end) return base64Of(root);
  if (divided.children === undefined) {
    const first = Math.floor(begin / GROUP), last = Math.ceil(end / GROUP), hashes = groupsOf(divided.rows);
    const path = besideRange(0, hashes.length, first, last).map(([at, size]) => treeRoot(hashes.slice(at, at + size)));
    const members = {
      before: divided.rows.slice(first * GROUP, begin).map(base64Of),
      after: divided.rows.slice(end, last * GROUP).map(base64Of),
      path: base64Of(joined(path)),
    };
    const filled = Object.entries(members).filter(([, value]) => value.length > 0);
    return filled.length === 0 ? null : Object.fromEntries(filled);
  }
  let passed = 0;
  const parts = divided.children.map((child, at) => {
    const inside = rowsJson(child, start - passed, stop - passed);
    passed += child.count;
    return [divided.numbers[at], child.count, ...(inside === null ? [] : [inside])];
  });
  return { level: divided.level, parts };
};

class Listings {
  constructor(reader, { network, listings, log }) {
    need(listings && log, "an archive with listings expected");
    Object.assign(this, { reader, network, first: listings.first, end: listings.end, files: listings.files });
    this.logPath = listings.log_path;
    this.checkpoint = log.checkpoint;
    this.intervals = coverOf(this.first, this.end);
    const isWhole = this.files.length === this.intervals.length
      && this.intervals.every((each, at) => startOf(each) === this.files[at].first && endOf(each) === this.files[at].last);
    need(isWhole, `files of all milestones from ${this.first} to ${this.end} expected`);
    this.roots = new Map();
  }

  async page(file, begin, end) {
    return decodePage(await this.reader.part(file.name, begin, end - begin), file.name);
  }

  async root(file) {
    if (!this.roots.has(file.name)) {
      this.roots.set(file.name, await this.page(file, file.directory, file.size - POSITION_BYTES));
    }
    return this.roots.get(file.name);
  }

  async tile(file, position, size) {
    return decodeTile(await this.reader.part(file.name, position, size), position, file);
  }

  // The tiles around a place in an interval, and the index of the first leaf that is not before it.
  async locate(file, place) {
    if (file.keys === 0) return { index: 0, tiles: [] };
    let page = await this.root(file), [begin, end] = childOf(page, place);
    while (page.depth > 0) {
      page = await this.page(file, begin, end);
      [begin, end] = childOf(page, place);
    }
    const tiles = [await this.tile(file, begin, Math.min(end - begin, TILE_MOST))];
    let index = findIn(tiles[0], place);
    if (index === tiles[0].stop && index < file.keys) {
      tiles.push(await this.tile(file, end, TILE_MOST));
      index = findIn(tiles[1], place);
    }
    return { index, tiles };
  }

  // All rows of the leaf with an index, as one array of bytes.
  async rows(file, index, tiles) {
    const tile = tiles.find(({ start, stop }) => start <= index && index < stop), at = index - tile.start;
    const begin = tile.rowsAt + tile.leaves.slice(0, at).reduce((sum, leaf) => sum + bytesOfRows(leaf), 0);
    const size = bytesOfRows(tile.leaves[at]), start = begin - tile.position;
    const held = tile.data.subarray(start, start + size);
    return held.length === size ? held : this.reader.part(file.name, begin, size);
  }

  async interval(interval, file, { index, tiles }, leaf, start, stop) {
    const leaves = tiles.flatMap((tile) => tile.leaves.map((each, at) => ({ ...each, index: tile.start + at })));
    if (leaf === null) {
      const begin = Math.max(0, index - 1);
      const neighbours = leaves.filter((each) => begin <= each.index && each.index <= index);
      const path = neighbours.length ? proveLeaves(file.keys, begin, begin + neighbours.length, tiles) : [];
      const shown = neighbours.map(({ place, count, root }) => (
        { family: place[0], key: hexOf(place.subarray(1)), count, root: base64Of(root) }
      ));
      return { rows: [], json: { keys: file.keys, absent: { index: begin, neighbours: shown, path: base64Of(joined(path)) } } };
    }
    const { count } = leaf, path = base64Of(joined(proveLeaves(file.keys, index, index + 1, tiles)));
    if (Math.max(0, start) >= Math.min(count, stop)) {
      return { rows: [], json: { keys: file.keys, present: { index, count, rows: base64Of(leaf.root), path } } };
    }
    const data = await this.rows(file, index, tiles), width = bytesOfRows(leaf) / count;
    const rows = Array.from({ length: count }, (_, at) => data.subarray(at * width, (at + 1) * width));
    const divided = divide(interval, rows);
    need(same(divided.root, leaf.root), `${file.name}: other rows expected`);
    const inside = rowsJson(divided, start, stop);
    const present = { index, count, ...(inside === null ? {} : { rows: inside }), path };
    return { rows: rows.slice(Math.max(0, start), stop), json: { keys: file.keys, present } };
  }

  async prove(family, key, index, count) {
    const place = joined([Uint8Array.of(family.number), key]);
    const located = await Promise.all(this.files.map((file) => this.locate(file, place)));
    let total = 0;
    const waiting = located.map((found, at) => {
      const tile = found.tiles.find(({ start, stop }) => start <= found.index && found.index < stop);
      const candidate = tile?.leaves[found.index - tile.start];
      const leaf = candidate !== undefined && same(candidate.place, place) ? candidate : null;
      const begin = index - total;
      total += leaf === null ? 0 : leaf.count;
      return this.interval(this.intervals[at], this.files[at], found, leaf, begin, begin + count);
    });
    const proved = await Promise.all(waiting), rows = proved.flatMap((each) => each.rows);
    need(rows.length > 0 || (total === 0 && index === 0), `a page of ${total} rows expected`);
    return JSON.stringify({
      version: 1,
      network: this.network,
      first: this.first,
      family: family.name,
      key: hexOf(key),
      to: this.end,
      total,
      index,
      rows: rows.map(base64Of),
      intervals: proved.map((each) => each.json),
      log_path: this.logPath,
      checkpoint: this.checkpoint,
    });
  }
}

// ---- Archive

/** An open archive. `manifest` is the JSON of manifest.json. */
export class Archive {
  constructor(reader, manifest) {
    need(manifest.format === FORMAT, `${MANIFEST}: format ${FORMAT} expected, found ${manifest.format}`);
    this.manifest = manifest;
    this.reader = reader;
    this.indexes = manifest.indexes.map((value) => new Index(value));
  }

  /**
   * Finds a message, transaction or milestone by its id of 64 hex digits, or an output by its 68 digits.
   *
   * Resolves to { what, record, outputIndex }, or to null if the archive has none. A record has kind, milestoneIndex,
   * position, inclusionState, conflictReason and data, the canonical bytes, from which the id was recomputed.
   */
  async find(id) {
    const identity = bytesOf(id), key = identity.subarray(0, 32);
    need([32, 34].includes(identity.length), "an id of 64 or 68 hex digits expected");
    const windows = this.indexes.map(async (index) => {
      const start = index.place(key) * ENTRY_BYTES;
      const size = Math.min((index.reach + 1) * ENTRY_BYTES, index.size - start);
      return size > 0 ? index.find(key, await this.reader.part(index.name, start, size)) : [];
    });
    const candidates = (await Promise.all(windows)).flat();
    candidates.sort((a, b) => a.isConflicting - b.isConflicting || a.position - b.position);
    for (const { position, size } of candidates) {
      const found = match(await this.block(position, size), key);
      if (found !== null) return identity.length === 32 ? found : outputOf(found, viewOf(identity).getUint16(32, true));
    }
    return null;
  }

  /**
   * Proves a page of a listing: up to `count` rows from place `index` on, oldest first. `family`: its name in
   * docs/proofs.md. `key`: hex.
   *
   * Resolves to the document that the server makes, as text, for `permanode proof check` or listing_proof.js.
   */
  async proveListing(family, key, index = 0, count = 100) {
    const wanted = FAMILIES.find(({ name }) => name === family), bytes = bytesOf(key);
    need(wanted !== undefined, `a family of listings expected, found ${family}`);
    need(wanted.keyLeast <= bytes.length && bytes.length <= wanted.keyMost, `a key of ${family} expected`);
    this.listings ??= new Listings(this.reader, this.manifest);
    return this.listings.prove(wanted, bytes, index, count);
  }

  async block(position, size) {
    const file = this.manifest.messages.find((each) => each.start <= position && position < each.start + each.size);
    need(file !== undefined, `a message file with the position ${position} expected`);
    const start = position - file.start;
    const data = await this.reader.part(file.name, start, Math.min(size, file.size - start));
    return recordsOf(unpackBlock(data, file.name), file.name);
  }
}

/** Opens the archive at an http(s):// URL, in Node also at a file:// URL. */
export const openArchive = async (url) => {
  const reader = url.startsWith("file:") ? new FileReader(url) : new HttpReader(url);
  const text = new TextDecoder().decode(await reader.whole(MANIFEST, MANIFEST_MOST));
  return new Archive(reader, JSON.parse(text));
};

// ---- fzstd 0.1.1 (MIT, Copyright (c) 2020 Arjun Barrett): the decoder of zstd, as in vendor/fzstd

// prettier-ignore
const fzstd = (() => {
  const module = { exports: {} }, exports = module.exports;
!function(f){typeof module!='undefined'&&typeof exports=='object'?module.exports=f():typeof define!='undefined'&&define.amd?define(['fzstd',f]):(typeof self!='undefined'?self:this).fzstd=f()}(function(){var _e={};"use strict";var r=ArrayBuffer,t=Uint8Array,e=Uint16Array,n=Int16Array,a=Uint32Array,s=Int32Array,i=function(r,e,n){if(t.prototype.slice)return t.prototype.slice.call(r,e,n);(null==e||e<0)&&(e=0),(null==n||n>r.length)&&(n=r.length);var a=new t(n-e);return a.set(r.subarray(e,n)),a},o=function(r,e,n,a){if(t.prototype.fill)return t.prototype.fill.call(r,e,n,a);for((null==n||n<0)&&(n=0),(null==a||a>r.length)&&(a=r.length);n<a;++n)r[n]=e;return r},u=function(r,e,n,a){if(t.prototype.copyWithin)return t.prototype.copyWithin.call(r,e,n,a);for((null==n||n<0)&&(n=0),(null==a||a>r.length)&&(a=r.length);n<a;)r[e++]=r[n++]};_e.ZstdErrorCode={InvalidData:0,WindowSizeTooLarge:1,InvalidBlockType:2,FSEAccuracyTooHigh:3,DistanceTooFarBack:4,UnexpectedEOF:5};var h=["invalid zstd data","window size too large (>2046MB)","invalid block type","FSE accuracy too high","match distance too far back","unexpected EOF"],f=function(r,t,e){var n=Error(t||h[r]);if(n.code=r,Error.captureStackTrace&&Error.captureStackTrace(n,f),!e)throw n;return n},l=function(r,t,e){for(var n=0,a=0;n<e;++n)a|=r[t++]<<(n<<3);return a},v=function(r,t){return(r[t]|r[t+1]<<8|r[t+2]<<16|r[t+3]<<24)>>>0},c=function(r,e){var n=r[0]|r[1]<<8|r[2]<<16;if(3126568==n&&253==r[3]){var a=r[4],i=a>>5&1,o=a>>2&1,u=3&a,h=a>>6;8&a&&f(0);var c=6-i,b=3==u?4:u,y=l(r,c,b),p=h?1<<h:i,w=l(r,c+=b,p)+(1==h&&256),g=w;if(!i){var d=1<<10+(r[5]>>3);g=d+(d>>3)*(7&r[5])}g>2145386496&&f(1);var m=new t((1==e?w||g:e?0:g)+12);return m[0]=1,m[4]=4,m[8]=8,{b:c+p,y:0,l:0,d:y,w:e&&1!=e?e:m.subarray(12),e:g,o:new s(m.buffer,0,3),u:w,c:o,m:Math.min(131072,g)}}if(25481893==(n>>4|r[3]<<20))return v(r,4)+8;f(0)},b=function(r){for(var t=0;1<<t<=r;++t);return t-1},y=function(a,s,i){var o=4+(s<<3),u=5+(15&a[s]);u>i&&f(3);for(var h=1<<u,l=h,v=-1,c=-1,y=-1,p=h,w=new r(512+(h<<2)),g=new n(w,0,256),d=new e(w,0,256),m=new e(w,512,h),z=512+(h<<1),E=new t(w,z,h),k=new t(w,z+h);v<255&&l>0;){var A=b(l+1),T=o>>3,x=(1<<A+1)-1,F=(a[T]|a[T+1]<<8|a[T+2]<<16)>>(7&o)&x,S=(1<<A)-1,B=x-l-1,I=F&S;if(I<B?(o+=A,F=I):(o+=A+1,F>S&&(F-=B)),g[++v]=--F,-1==F?(l+=F,E[--p]=v):l-=F,!F)do{var U=o>>3;c=(a[U]|a[U+1]<<8)>>(7&o)&3,o+=2,v+=c}while(3==c)}(v>255||l)&&f(0);for(var D=0,M=(h>>1)+(h>>3)+3,W=h-1,O=0;O<=v;++O){var j=g[O];if(j<1)d[O]=-j;else for(y=0;y<j;++y){E[D]=O;do{D=D+M&W}while(D>=p)}}for(D&&f(0),y=0;y<h;++y){var C=d[E[y]]++,H=k[y]=u-b(C);m[y]=(C<<H)-h}return[o+7>>3,{b:u,s:E,n:k,t:m}]},p=function(r,n){var a=0,s=-1,i=new t(292),u=r[n],h=i.subarray(0,256),l=i.subarray(256,268),v=new e(i.buffer,268);if(u<128){var c=y(r,n+1,6),p=c[1],w=c[0]<<3,g=r[n+=u];g||f(0);for(var d=0,m=0,z=p.b,E=z,k=(++n<<3)-8+b(g);!((k-=z)<w);){var A=k>>3;if(h[++s]=p.s[d+=(r[A]|r[A+1]<<8)>>(7&k)&(1<<z)-1],(k-=E)<w)break;h[++s]=p.s[m+=(r[A=k>>3]|r[A+1]<<8)>>(7&k)&(1<<E)-1],z=p.n[d],d=p.t[d],E=p.n[m],m=p.t[m]}++s>255&&f(0)}else{for(s=u-127;a<s;a+=2){var T=r[++n];h[a]=T>>4,h[a+1]=15&T}++n}var x=0;for(a=0;a<s;++a)(I=h[a])>11&&f(0),x+=I&&1<<I-1;var F=b(x)+1,S=1<<F,B=S-x;for(B&B-1&&f(0),h[s++]=b(B)+1,a=0;a<s;++a){var I;++l[h[a]=(I=h[a])&&F+1-I]}var U=new t(S<<1),D=U.subarray(0,S),M=U.subarray(S);for(v[F]=0,a=F;a>0;--a){var W=v[a];o(M,a,W,v[a-1]=W+l[a]*(1<<F-a))}for(v[0]!=S&&f(0),a=0;a<s;++a){var O=h[a];if(O){var j=v[O];o(D,a,j,v[O]=j+(1<<F-O))}}return[n,{n:M,b:F,s:D}]},w=y(new t([81,16,99,140,49,198,24,99,12,33,196,24,99,102,102,134,70,146,4]),0,6)[1],g=y(new t([33,20,196,24,99,140,33,132,16,66,8,33,132,16,66,8,33,68,68,68,68,68,68,68,68,36,9]),0,6)[1],d=y(new t([32,132,16,66,102,70,68,68,68,68,36,73,2]),0,5)[1],m=function(r,t){for(var e=r.length,n=new s(e),a=0;a<e;++a)n[a]=t,t+=1<<r[a];return n},z=new t(new s([0,0,0,0,16843009,50528770,134678020,202050057,269422093]).buffer,0,36),E=m(z,0),k=new t(new s([0,0,0,0,0,0,0,0,16843009,50528770,117769220,185207048,252579084,16]).buffer,0,53),A=m(k,3),T=function(r,t,e){var n=r.length,a=t.length,s=r[n-1],i=(1<<e.b)-1,o=-e.b;s||f(0);for(var u=0,h=e.b,l=(n<<3)-8+b(s)-h,v=-1;l>o&&v<a;){var c=l>>3;t[++v]=e.s[u=(u<<h|(r[c]|r[c+1]<<8|r[c+2]<<16)>>(7&l))&i],l-=h=e.n[u]}l==o&&v+1==a||f(0)},x=function(r,t,e){var n=6,a=t.length+3>>2,s=a<<1,i=a+s;T(r.subarray(n,n+=r[0]|r[1]<<8),t.subarray(0,a),e),T(r.subarray(n,n+=r[2]|r[3]<<8),t.subarray(a,s),e),T(r.subarray(n,n+=r[4]|r[5]<<8),t.subarray(s,i),e),T(r.subarray(n),t.subarray(i),e)},F=function(r,n,a){var s,u=n.b,h=r[u],l=h>>1&3;n.l=1&h;var v=h>>3|r[u+1]<<5|r[u+2]<<13,c=(u+=3)+v;if(1==l){if(u>=r.length)return;return n.b=u+1,a?(o(a,r[u],n.y,n.y+=v),a):o(new t(v),r[u])}if(!(c>r.length)){if(0==l)return n.b=c,a?(a.set(r.subarray(u,c),n.y),n.y+=v,a):i(r,u,c);if(2==l){var m=r[u],F=3&m,S=m>>2&3,B=m>>4,I=0,U=0;F<2?1&S?B|=r[++u]<<4|(2&S&&r[++u]<<12):B=m>>3:(U=S,S<2?(B|=(63&r[++u])<<4,I=r[u]>>6|r[++u]<<2):2==S?(B|=r[++u]<<4|(3&r[++u])<<12,I=r[u]>>2|r[++u]<<6):(B|=r[++u]<<4|(63&r[++u])<<12,I=r[u]>>6|r[++u]<<2|r[++u]<<10)),++u;var D=a?a.subarray(n.y,n.y+n.m):new t(n.m),M=D.length-B;if(0==F)D.set(r.subarray(u,u+=B),M);else if(1==F)o(D,r[u++],M);else{var W=n.h;if(2==F){var O=p(r,u);I+=u-(u=O[0]),n.h=W=O[1]}else W||f(0);(U?x:T)(r.subarray(u,u+=I),D.subarray(M),W)}var j=r[u++];if(j){255==j?j=32512+(r[u++]|r[u++]<<8):j>127&&(j=j-128<<8|r[u++]);var C=r[u++];3&C&&f(0);for(var H=[g,d,w],L=2;L>-1;--L){var Z=C>>2+(L<<1)&3;if(1==Z){var q=new t([0,0,r[u++]]);H[L]={s:q.subarray(2,3),n:q.subarray(0,1),t:new e(q.buffer,0,1),b:0}}else 2==Z?(u=(s=y(r,u,9-(1&L)))[0],H[L]=s[1]):3==Z&&(n.t||f(0),H[L]=n.t[L])}var G=n.t=H,J=G[0],K=G[1],N=G[2],P=r[c-1];P||f(0);var Q=(c<<3)-8+b(P)-N.b,R=Q>>3,V=0,X=(r[R]|r[R+1]<<8)>>(7&Q)&(1<<N.b)-1,Y=(r[R=(Q-=K.b)>>3]|r[R+1]<<8)>>(7&Q)&(1<<K.b)-1,$=(r[R=(Q-=J.b)>>3]|r[R+1]<<8)>>(7&Q)&(1<<J.b)-1;for(++j;--j;){var _=N.s[X],rr=N.n[X],tr=J.s[$],er=J.n[$],nr=K.s[Y],ar=K.n[Y],sr=1<<nr,ir=sr+((r[R=(Q-=nr)>>3]|r[R+1]<<8|r[R+2]<<16|r[R+3]<<24)>>>(7&Q)&sr-1);R=(Q-=k[tr])>>3;var or=A[tr]+((r[R]|r[R+1]<<8|r[R+2]<<16)>>(7&Q)&(1<<k[tr])-1);R=(Q-=z[_])>>3;var ur=E[_]+((r[R]|r[R+1]<<8|r[R+2]<<16)>>(7&Q)&(1<<z[_])-1);if(R=(Q-=rr)>>3,X=N.t[X]+((r[R]|r[R+1]<<8)>>(7&Q)&(1<<rr)-1),R=(Q-=er)>>3,$=J.t[$]+((r[R]|r[R+1]<<8)>>(7&Q)&(1<<er)-1),R=(Q-=ar)>>3,Y=K.t[Y]+((r[R]|r[R+1]<<8)>>(7&Q)&(1<<ar)-1),ir>3)n.o[2]=n.o[1],n.o[1]=n.o[0],n.o[0]=ir-=3;else{var hr=ir-(0!=ur);hr?(ir=3==hr?n.o[0]-1:n.o[hr],hr>1&&(n.o[2]=n.o[1]),n.o[1]=n.o[0],n.o[0]=ir):ir=n.o[0]}for(L=0;L<ur;++L)D[V+L]=D[M+L];M+=ur;var fr=(V+=ur)-ir;if(fr<0){var lr=-fr,vr=n.e+fr;for(lr>or&&(lr=or),L=0;L<lr;++L)D[V+L]=n.w[vr+L];V+=lr,or-=lr,fr=0}for(L=0;L<or;++L)D[V+L]=D[fr+L];V+=or}if(V!=M)for(;M<D.length;)D[V++]=D[M++];else V=D.length;a?n.y+=V:D=i(D,0,V)}else if(a){if(n.y+=B,M)for(L=0;L<B;++L)D[L]=D[M+L]}else M&&(D=i(D,M));return n.b=c,D}f(2)}},S=function(r,e){if(1==r.length)return r[0];for(var n=new t(e),a=0,s=0;a<r.length;++a){var i=r[a];n.set(i,s),s+=i.length}return n};function B(r,t){for(var e=[],n=+!t,a=0,s=0;r.length;){var i=c(r,n||t);if("object"==typeof i){for(n?(t=null,i.w.length==i.u&&(e.push(t=i.w),s+=i.u)):(e.push(t),i.e=0);!i.l;){var o=F(r,i,t);o||f(5),t?i.e=i.y:(e.push(o),s+=o.length,u(i.w,0,o.length),i.w.set(o,i.w.length-o.length))}a=i.b+4*i.c}else a=i;r=r.subarray(a)}return S(e,s)}_e.decompress=B;var I=function(){function r(r){this.ondata=r,this.c=[],this.l=0,this.z=0}return r.prototype.push=function(r,e){if("number"==typeof this.s){var n=Math.min(r.length,this.s);r=r.subarray(n),this.s-=n}var a=r.length+this.l;if(!this.s){if(e){if(!a)return void this.ondata(new t(0),!0);a<5&&f(5)}else if(a<18)return this.c.push(r),void(this.l=a);if(this.l&&(this.c.push(r),r=S(this.c,a),this.c=[],this.l=0),"number"==typeof(this.s=c(r)))return this.push(r,e)}if("number"!=typeof this.s){if(a<(this.z||3))return e&&f(5),this.c.push(r),void(this.l=a);if(this.l&&(this.c.push(r),r=S(this.c,a),this.c=[],this.l=0),!this.z&&a<(this.z=2&r[this.s.b]?4:3+(r[this.s.b]>>3|r[this.s.b+1]<<5|r[this.s.b+2]<<13)))return e&&f(5),this.c.push(r),void(this.l=a);for(this.z=0;;){var s=F(r,this.s);if(!s){e&&f(5);var i=r.subarray(this.s.b);return this.s.b=0,this.c.push(i),void(this.l+=i.length)}if(this.ondata(s,!1),u(this.s.w,0,s.length),this.s.w.set(s,this.s.w.length-s.length),this.s.l){var o=r.subarray(this.s.b);return this.s=4*this.s.c,void this.push(o,e)}}}else e&&f(5)},r}();_e.Decompress=I;return _e})
  return module.exports;
})();
