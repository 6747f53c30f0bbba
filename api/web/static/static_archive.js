// Client of a static archive: finds messages, transactions, outputs and milestones by id, and proves listings complete,
// over HTTP with range requests, or in Node at file:// URLs. One file without dependencies, so it has more lines than
// others. The limits have the names and values of etl/static_client.py and etl/static_archive/listings: an archive may be
// hostile, so nothing is allocated or repeated by a number that it states unless a limit holds.
//
//   const archive = await openArchive("https://example.org/mainnet");
//   const found = await archive.find("049b456b…");
//   const document = await archive.proveListing("ledger_updates_by_address", "00…");

const FORMAT = "permanode-static-archive-1", MANIFEST = "manifest.json", MOST_MANIFEST_BYTES = 16 << 20, TIMEOUT_S = 20;
const READS = [2048, 4096, 6144, 8192, 14336, 20480, 27648, 36864];
const UNIT = 128, ENTRY_BYTES = 7, CLASS_BITS = 3n, WORD = (1n << 64n) - 1n;
const MOST_UNPACKED = 1 << 17, MOST_WINDOW = 1 << 23, MOST_REACH = 1 << 10, MOST_INDEXES = 2;
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
const littleEndian = (bytes) => bytes.reduceRight((value, byte) => value * 256 + byte, 0);

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

const needPart = (name, start, size) => {
  const isPart = Number.isSafeInteger(start) && Number.isSafeInteger(size) && start >= 0 && size >= 1;
  need(isPart, `${name}: a part of the file expected, found ${size} bytes from byte ${start}`);
};

// At most `most` bytes of a stream, in memory that grows with those that come. Null if it has more.
const readStream = async (stream, most, timed) => {
  const reader = stream.getReader();
  let data = new Uint8Array(Math.min(most, 1 << 16)), size = 0;
  for (;;) {
    const { done, value } = await timed(reader.read());
    if (done) return data.subarray(0, size);
    if (size + value.length > most) return null;
    if (size + value.length > data.length) {
      const longer = new Uint8Array(Math.min(most, 2 * (size + value.length)));
      longer.set(data.subarray(0, size));
      data = longer;
    }
    data.set(value, size);
    size += value.length;
  }
};

class HttpReader {
  constructor(url, timeoutS) {
    this.url = url.replace(/\/+$/, "");
    this.timeoutS = timeoutS;
  }

  async whole(name, most) {
    const isExpected = (response) => need(response.ok, `${this.url}/${name}: status ${response.status}`);
    return this.read(name, most, {}, isExpected, `at most ${most} bytes expected, found more`);
  }

  async part(name, start, size) {
    needPart(name, start, size);
    const isExpected = ({ status }) => need(
      status === 206, `${this.url}/${name}: a server with range requests expected, status ${status}`,
    );
    const headers = { Range: `bytes=${start}-${start + size - 1}` };
    return this.read(name, size, headers, isExpected, `${size} bytes expected, found more`);
  }

  async read(name, most, headers, isExpected, text) {
    const place = `${this.url}/${name}`, ending = new AbortController();
    const timed = async (operation) => {
      const late = () => ending.abort(new Error(`${place}: no answer within ${this.timeoutS} s`));
      const timer = setTimeout(late, 1000 * this.timeoutS);
      try {
        return await operation;
      } finally {
        clearTimeout(timer);
      }
    };
    try {
      const response = await timed(fetch(place, { headers, signal: ending.signal }));
      isExpected(response);
      const data = response.body === null ? new Uint8Array(0) : await readStream(response.body, most, timed);
      need(data !== null, `${place}: ${text}`);
      return data;
    } finally {
      ending.abort();
    }
  }
}

class FileReader {
  constructor(url) {
    this.url = url.replace(/\/+$/, "");
  }

  async whole(name, most) {
    const data = await this.part(name, 0, most + 1);
    need(data.length <= most, `${this.url}/${name}: at most ${most} bytes expected, found more`);
    return data;
  }

  async part(name, start, size) {
    needPart(name, start, size);
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
    const { name, size, slots, reach, offset_bits: offsetBits, coefficients } = value, numbers = [size, slots, reach, offsetBits];
    const isWhole = coefficients.length === 16 && coefficients.every((word) => /^[0-9a-f]{1,16}$/i.test(word));
    need(isWhole, "16 coefficients of an index expected");
    const isPossible = numbers.every(Number.isSafeInteger)
      && slots > 0 && slots * ENTRY_BYTES <= size
      && reach >= 0 && reach <= MOST_REACH
      && offsetBits > 0 && offsetBits < 8 * ENTRY_BYTES - Number(CLASS_BITS) - 1;
    need(isPossible, `size, slots, reach and offset_bits of an index expected, found ${numbers}`.slice(0, 200));
    const words = coefficients.map((word) => BigInt(`0x${word}`));
    Object.assign(this, { name, size, slots, reach });
    this.offsetBits = BigInt(offsetBits);
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

// ---- zstd (RFC 8878): one frame. Each loop ends with the frame or with MOST_UNPACKED bytes, whatever the bytes are.

const FRAME_MAGIC = 0xfd2fb528, MOST_BLOCK = 1 << 17, MOST_HUFFMAN_BITS = 11, MOST_WEIGHTS = 255, MOST_OFFSET_CODE = 24;
const RAW = 0, RLE = 1, COMPRESSED = 2, PREDEFINED = 0;

const isFrame = (condition, text = "a frame of zstd expected") => {
  if (!condition) throw new ArchiveError(text);
};

/** Bits of data[start, end), read from its last byte to its first one. Bits before the first one are 0. */
class BackwardBits {
  constructor(data, start, end) {
    isFrame(start < end && end <= data.length && data[end - 1] !== 0);
    this.data = data.subarray(start, end);
    this.left = 8 * this.data.length - Math.clz32(data[end - 1]) + 23;
  }

  /** The next bits, at most 24. */
  peek(count) {
    const low = Math.max(0, this.left - count), inside = Math.max(0, this.left - low), byte = low >> 3;
    // Bytes behind the last one are undefined, which is 0 here.
    const { data } = this, upper = (data[byte + 2] << 16) | (data[byte + 3] << 24);
    const bits = ((data[byte] | (data[byte + 1] << 8) | upper) >>> (low & 7)) & ((1 << inside) - 1);
    return bits << (count - inside);
  }

  read(count) {
    const bits = this.peek(count);
    this.left -= count;
    return bits;
  }
}

// The counts of symbols at the begin of data[start, end), -1 for one below 1, and where their bytes end.
const readCounts = (data, start, end, mostLog, mostSymbol) => {
  let at = 8 * start;
  const peek = (count) => {
    const byte = at >> 3, word = data[byte] | (data[byte + 1] << 8) | (data[byte + 2] << 16);
    return (word >>> (at & 7)) & ((1 << count) - 1);
  };
  const log = 5 + peek(4), counts = [];
  at += 4;
  isFrame(log <= mostLog);
  for (let left = (1 << log) + 1, half = 1 << log, bits = log + 1; left > 1; ) {
    isFrame(counts.length <= mostSymbol && at <= 8 * end);
    const shorter = 2 * half - 1 - left, value = peek(bits), isShort = (value & (half - 1)) < shorter;
    at += isShort ? bits - 1 : bits;
    const count = (isShort ? value & (half - 1) : value >= half ? value - shorter : value) - 1;
    counts.push(count);
    left -= Math.abs(count);
    isFrame(left >= 1);
    for (let zeros = count === 0 ? 3 : 0; zeros === 3; ) {
      zeros = peek(2);
      at += 2;
      for (let each = 0; each < zeros; each++) counts.push(0);
      isFrame(counts.length <= mostSymbol + 1);
    }
    for (; left < half; bits--) half >>= 1;
  }
  const stop = Math.ceil(at / 8);
  isFrame(counts.length <= mostSymbol + 1 && stop <= end);
  return { log, counts, stop };
};

/** The states of a finite state entropy decoder: their symbols, and the bits and base of the next state. */
const statesOf = ({ log, counts }) => {
  const size = 1 << log, symbols = new Uint8Array(size), bits = new Uint8Array(size), bases = new Uint16Array(size);
  const next = counts.map(Math.abs), step = (size >> 1) + (size >> 3) + 3;
  let high = size - 1, at = 0;
  counts.forEach((count, symbol) => {
    if (count === -1) symbols[high--] = symbol;
  });
  counts.forEach((count, symbol) => {
    for (let each = 0; each < count; each++) {
      symbols[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at > high);
    }
  });
  symbols.forEach((symbol, state) => {
    const value = next[symbol]++;
    bits[state] = log - 31 + Math.clz32(value);
    bases[state] = (value << bits[state]) - size;
  });
  return { log, symbols, bits, bases };
};

const oneState = (symbol) => ({ log: 0, symbols: [symbol], bits: [0], bases: [0] });

// Weights of a Huffman tree whose description is compressed: two decoders take turns.
const readWeights = (data, start, end) => {
  const { stop, ...counts } = readCounts(data, start, end, 6, MOST_WEIGHTS);
  const states = statesOf(counts), source = new BackwardBits(data, stop, end), weights = [];
  let now = source.read(states.log), other = source.read(states.log);
  isFrame(source.left >= 0);
  for (;;) {
    isFrame(weights.length < MOST_WEIGHTS);
    weights.push(states.symbols[now]);
    if (source.left < states.bits[now]) break;
    [now, other] = [other, states.bases[now] + source.read(states.bits[now])];
  }
  weights.push(states.symbols[other]);
  return weights;
};

/** The Huffman tree at data[start]: symbols and bits by the next `log` bits of a stream; and where its bytes end. */
const readTree = (data, start, end) => {
  isFrame(start < end);
  const head = data[start], count = head - 127, stop = start + 1 + (head < 128 ? head : (count + 1) >> 1);
  isFrame(stop <= end);
  const weights = head < 128
    ? readWeights(data, start + 1, stop)
    : Array.from({ length: count }, (_, at) => (data[start + 1 + (at >> 1)] >> (at % 2 === 0 ? 4 : 0)) & 15);
  isFrame(weights.length <= MOST_WEIGHTS && weights.every((weight) => weight <= MOST_HUFFMAN_BITS));
  const sum = weights.reduce((total, weight) => total + (weight > 0 ? 1 << (weight - 1) : 0), 0);
  const log = 32 - Math.clz32(sum), rest = (1 << log) - sum;
  isFrame(sum > 0 && log <= MOST_HUFFMAN_BITS && (rest & (rest - 1)) === 0);
  weights.push(32 - Math.clz32(rest));
  const symbols = new Uint8Array(1 << log), bits = new Uint8Array(1 << log);
  for (let weight = 1, at = 0; weight <= log; weight++) {
    weights.forEach((each, symbol) => {
      if (each !== weight) return;
      symbols.fill(symbol, at, at + (1 << (weight - 1)));
      bits.fill(log + 1 - weight, at, at + (1 << (weight - 1)));
      at += 1 << (weight - 1);
    });
  }
  return { log, symbols, bits, stop };
};

const fillFromTree = (target, tree, data, start, end) => {
  const source = new BackwardBits(data, start, end);
  for (let at = 0; at < target.length; at++) {
    const place = source.peek(tree.log);
    target[at] = tree.symbols[place];
    source.left -= tree.bits[place];
    isFrame(source.left >= 0);
  }
  isFrame(source.left === 0);
};

// The literals of a block, and where their section ends. `state.tree` is that of the block before.
const readLiterals = (data, start, end, state) => {
  const kind = data[start] & 3, format = (data[start] >> 2) & 3;
  const sized = (bytes, shift, bits) => Math.floor(littleEndian(data.subarray(start, start + bytes)) / 2 ** shift) % 2 ** bits;
  if (kind === RAW || kind === RLE) {
    const [bytes, shift, bits] = format === 1 ? [2, 4, 12] : format === 3 ? [3, 4, 20] : [1, 3, 5];
    const size = sized(bytes, shift, bits), begin = start + bytes, stop = begin + (kind === RAW ? size : 1);
    isFrame(size <= MOST_BLOCK && stop <= end);
    return { literals: kind === RAW ? data.subarray(begin, stop) : new Uint8Array(size).fill(data[begin]), stop };
  }
  const [bytes, bits] = [[3, 10], [3, 10], [4, 14], [5, 18]][format];
  const size = sized(bytes, 4, bits), stop = start + bytes + sized(bytes, 4 + bits, bits);
  isFrame(size <= MOST_BLOCK && start + bytes <= end && stop <= end);
  let at = start + bytes;
  if (kind === COMPRESSED) {
    state.tree = readTree(data, at, stop);
    at = state.tree.stop;
  }
  isFrame(state.tree !== undefined);
  const literals = new Uint8Array(size);
  if (format === 0) {
    fillFromTree(literals, state.tree, data, at, stop);
    return { literals, stop };
  }
  const part = (size + 3) >> 2;
  isFrame(at + 6 <= stop && 3 * part <= size);
  for (let stream = 0, begin = at + 6; stream < 4; stream++) {
    const until = stream === 3 ? stop : begin + littleEndian(data.subarray(at + 2 * stream, at + 2 * stream + 2));
    isFrame(until <= stop);
    fillFromTree(literals.subarray(stream * part, stream === 3 ? size : (stream + 1) * part), state.tree, data, begin, until);
    begin = until;
  }
  return { literals, stop };
};

// Of each kind of code: the most bits of a table, the predefined counts and their bits; then bits and bases of the codes.
const basesOf = (first, bits) => bits.map((_, code) => first + bits.slice(0, code).reduce((sum, each) => sum + 2 ** each, 0));
const LENGTH_BITS = [...Array(16).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MATCH_BITS = [...Array(32).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const LENGTHS = {
  name: "lengths", mostLog: 9, mostSymbol: 35, log: 6, extra: LENGTH_BITS, bases: basesOf(0, LENGTH_BITS),
  counts: [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1],
};
const OFFSETS = {
  name: "offsets", mostLog: 8, mostSymbol: 31, log: 5,
  counts: [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
};
const MATCHES = {
  name: "matches", mostLog: 9, mostSymbol: 52, log: 6, extra: MATCH_BITS, bases: basesOf(3, MATCH_BITS),
  counts: [1, 4, 3, 2, 2, 2, 2, 2, 2, ...Array(37).fill(1), -1, -1, -1, -1, -1, -1, -1],
};

// Reads the tables of a block with sequences. `state` has those of the block before.
const readTables = (data, start, end, state) => {
  isFrame(start < end && (data[start] & 3) === 0);
  let at = start + 1;
  [LENGTHS, OFFSETS, MATCHES].forEach((kind, place) => {
    const mode = (data[start] >> (6 - 2 * place)) & 3;
    if (mode === PREDEFINED) {
      state[kind.name] = statesOf(kind);
    } else if (mode === RLE) {
      isFrame(at < end && data[at] <= kind.mostSymbol);
      state[kind.name] = oneState(data[at++]);
    } else if (mode === COMPRESSED) {
      const counts = readCounts(data, at, end, kind.mostLog, kind.mostSymbol);
      state[kind.name] = statesOf(counts);
      at = counts.stop;
    }
    isFrame(state[kind.name] !== undefined);
  });
  return at;
};

/** The output of a frame: `size` of its bytes are known. */
class Output {
  constructor(most) {
    this.data = new Uint8Array(most);
    this.size = 0;
  }

  add(bytes) {
    isFrame(this.size + bytes.length <= this.data.length, `a block of at most ${MOST_UNPACKED} bytes expected`);
    this.data.set(bytes, this.size);
    this.size += bytes.length;
  }

  copy(offset, count) {
    isFrame(0 < offset && offset <= this.size);
    isFrame(this.size + count <= this.data.length, `a block of at most ${MOST_UNPACKED} bytes expected`);
    for (let each = 0; each < count; each++, this.size++) this.data[this.size] = this.data[this.size - offset];
  }
}

// The distance of a match, from the value of its offset and the last three distances.
const distanceOf = (value, hasLiterals, last) => {
  if (value > 3) {
    last.unshift(value - 3);
    last.pop();
    return last[0];
  }
  const place = value - (hasLiterals ? 1 : 0), distance = place === 3 ? last[0] - 1 : last[place];
  if (place === 0) return distance;
  last.splice(Math.min(place, 2), 1);
  last.unshift(distance);
  return distance;
};

const unpackCompressed = (data, start, end, state, output) => {
  const { literals, stop } = readLiterals(data, start, end, state);
  isFrame(stop < end);
  const head = data[stop], bytes = head < 128 ? 1 : head < 255 ? 2 : 3;
  isFrame(stop + bytes <= end);
  const wide = bytes === 2 ? ((head - 128) << 8) + data[stop + 1] : data[stop + 1] + (data[stop + 2] << 8) + 0x7f00;
  const count = bytes === 1 ? head : wide;
  if (count === 0) {
    isFrame(stop + 1 === end);
    output.add(literals);
    return;
  }
  const source = new BackwardBits(data, readTables(data, stop + bytes, end, state), end), kinds = [LENGTHS, OFFSETS, MATCHES];
  const [lengths, offsets, matches] = kinds.map((kind) => ({ ...state[kind.name], at: source.read(state[kind.name].log) }));
  const code = (decoder) => decoder.symbols[decoder.at];
  let used = 0;
  for (let each = 0; each < count; each++) {
    const offset = code(offsets), match = code(matches), length = code(lengths);
    isFrame(offset <= MOST_OFFSET_CODE);
    const value = 2 ** offset + source.read(offset), matched = MATCHES.bases[match] + source.read(MATCHES.extra[match]);
    const copied = LENGTHS.bases[length] + source.read(LENGTHS.extra[length]);
    isFrame(source.left >= 0 && used + copied <= literals.length);
    output.add(literals.subarray(used, used + copied));
    used += copied;
    output.copy(distanceOf(value, copied > 0, state.last), matched);
    if (each + 1 === count) break;
    for (const decoder of [lengths, matches, offsets]) {
      decoder.at = decoder.bases[decoder.at] + source.read(decoder.bits[decoder.at]);
    }
  }
  isFrame(source.left === 0);
  output.add(literals.subarray(used));
};

/**
 * The content of the frame that `data` begins with; what follows it is ignored. Throws ArchiveError, before it allocates
 * memory for a frame that states a larger size than MOST_UNPACKED or a larger window than MOST_WINDOW.
 */
export const unpackFrame = (data) => {
  isFrame(data.length >= 6 && viewOf(data).getUint32(0, true) === FRAME_MAGIC && (data[4] & 0b1011) === 0);
  const isSingle = (data[4] & 32) !== 0, sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][data[4] >> 6];
  let at = isSingle ? 5 : 6;
  const stated = littleEndian(data.subarray(at, at + sizeBytes)) + (sizeBytes === 2 ? 256 : 0);
  at += sizeBytes;
  isFrame(at <= data.length);
  isFrame(stated <= MOST_UNPACKED, `a block of at most ${MOST_UNPACKED} bytes expected`);
  const window = isSingle ? stated : 2 ** (10 + (data[5] >> 3)) * (1 + (data[5] & 7) / 8);
  isFrame(window <= MOST_WINDOW, `a window of at most ${MOST_WINDOW} bytes expected`);
  const output = new Output(sizeBytes > 0 ? stated : MOST_UNPACKED), state = { last: [1, 4, 8] };
  const most = Math.min(window, MOST_BLOCK);
  for (let isLast = false; !isLast; ) {
    isFrame(at + 3 <= data.length);
    const head = littleEndian(data.subarray(at, at + 3)), kind = (head >> 1) & 3, size = head >> 3;
    isLast = (head & 1) === 1;
    at += 3;
    const end = at + (kind === RLE ? 1 : size), before = output.size;
    isFrame(end <= data.length && size <= most && kind <= COMPRESSED);
    if (kind === RAW) output.add(data.subarray(at, end));
    else if (kind === RLE) output.add(new Uint8Array(size).fill(data[at]));
    else unpackCompressed(data, at, end, state, output);
    isFrame(output.size - before <= most);
    at = end;
  }
  isFrame((sizeBytes === 0 || output.size === stated) && at + (data[4] & 4) <= data.length);
  return output.data.subarray(0, output.size);
};

// ---- Blocks

/** Unpacks the block that `data` begins with. Throws ArchiveError, which contains the name of the file. */
export const unpackBlock = (data, name) => {
  need(data.length >= 14 && viewOf(data).getUint32(0, true) === SKIPPABLE, `${name}: a block expected`);
  const start = 8 + viewOf(data).getUint32(4, true), size = viewOf(data).getUint32(8, true);
  const frame = data.subarray(start, start + size);
  need(frame.length === size, `${name}: a block of ${size} bytes expected`);
  try {
    return unpackFrame(frame);
  } catch (error) {
    throw new ArchiveError(`${name}: ${error.message}`);
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
const POSITION_BYTES = 6, PAGE_HEAD = 9, VALUE_BYTES = 4 + HASH_BYTES, FANOUT = 256, MILESTONE_MOST = 2 ** 32 - 1;
const PAGE_MOST = PAGE_HEAD + FANOUT * (1 + 255 + POSITION_BYTES), NUMBER_MOST = 2 ** (8 * POSITION_BYTES) - 1;
const AT_ONCE = 8, PART_BYTES = 1 << 20;

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

/** What an asynchronous function makes of each item, in order. Some are made at the same time: at most AT_ONCE. */
const atOnce = async (items, make) => {
  const found = [];
  let next = 0;
  const work = async () => {
    for (let at = next++; at < items.length; at = next++) found[at] = await make(items[at], at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
};

const u32 = (value) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
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

const completeFrom = (first) => (first <= 1 ? 0 : Math.ceil(first / SMALLEST)) * SMALLEST;

const coverOf = (first, end) => {
  const found = [];
  let start = completeFrom(first);
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
    const numbers = this.files.flatMap(({ size, keys, directory }) => [size, keys, directory]);
    const isPossible = numbers.every((each) => Number.isInteger(each) && each >= 0 && each <= NUMBER_MOST);
    need(isPossible, `the listings of a manifest expected, with sizes from 0 to ${NUMBER_MOST}`);
    const isSpan = Number.isInteger(this.first) && Number.isInteger(this.end) && this.first >= 1
      && completeFrom(this.first) <= this.end && this.end <= MILESTONE_MOST && (this.end + 1) % SMALLEST === 0;
    need(isSpan, `the listings of a manifest expected, up to the last milestone of an interval, found ${this.end}`);
    this.intervals = coverOf(this.first, this.end);
    const isWhole = this.files.length === this.intervals.length
      && this.intervals.every((each, at) => startOf(each) === this.files[at].first && endOf(each) === this.files[at].last);
    need(isWhole, `files of all milestones from ${this.first} to ${this.end} expected`);
    this.roots = new Map();
  }

  async page(file, begin, end) {
    need(end - begin > 0 && end - begin <= PAGE_MOST, `${file.name}: a page of at most ${PAGE_MOST} bytes expected`);
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
      const above = page.depth;
      page = await this.page(file, begin, end);
      need(page.depth < above, `${file.name}: a page of the directory below depth ${above} expected`);
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
    return held.length === size ? held : this.readRows(file, begin, size);
  }

  // The count of a tile is not proved before its rows are read, so memory grows with the bytes that the archive has.
  async readRows(file, begin, size) {
    const parts = [];
    let isInside = begin + size <= file.size, read = 0;
    while (isInside && read < size) {
      const wanted = Math.min(PART_BYTES, size - read), part = await this.reader.part(file.name, begin + read, wanted);
      parts.push(part);
      read += part.length;
      isInside = part.length === wanted;
    }
    need(isInside, `${file.name}: ${size} bytes of rows expected at byte ${begin}`);
    return joined(parts);
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
    const located = await atOnce(this.files, (file) => this.locate(file, place));
    let total = 0;
    const wanted = located.map((found, at) => {
      const tile = found.tiles.find(({ start, stop }) => start <= found.index && found.index < stop);
      const candidate = tile?.leaves[found.index - tile.start];
      const leaf = candidate !== undefined && same(candidate.place, place) ? candidate : null;
      const begin = index - total;
      total += leaf === null ? 0 : leaf.count;
      return [this.intervals[at], this.files[at], found, leaf, begin, begin + count];
    });
    const proved = await atOnce(wanted, (each) => this.interval(...each)), rows = proved.flatMap((each) => each.rows);
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
    need(manifest.indexes.length <= MOST_INDEXES, `${MANIFEST}: at most ${MOST_INDEXES} indexes expected`);
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

/**
 * Opens the archive at an http(s):// URL, in Node also at a file:// URL. `timeoutS`: of each operation of a connection.
 *
 * Rejects with ArchiveError for a file that is not the manifest of an archive.
 */
export const openArchive = async (url, timeoutS = TIMEOUT_S) => {
  const reader = url.startsWith("file:") ? new FileReader(url) : new HttpReader(url, timeoutS);
  const data = await reader.whole(MANIFEST, MOST_MANIFEST_BYTES);
  try {
    return new Archive(reader, JSON.parse(new TextDecoder().decode(data)));
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    throw new ArchiveError(`${url}/${MANIFEST}: the manifest of a static archive expected, ${error.message}`);
  }
};
