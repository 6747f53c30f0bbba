// Verifies the document of a listing's proof against a log, like ledger/completeness/check.py. One file, no dependency.
// SHA-256 is written out, because browsers have crypto.subtle only on secure origins. No DOM, no network.

const VERSION = 1, BYTES_MOST = 1 << 20, PATH_MOST = 128, ROWS_MOST = 10000, INTERVALS_MOST = 128, CHECKPOINT_MOST = 10000;
const SMALLEST = 100, FACTOR = 4, LEVELS = 8, GROUP = 16, COVER_LEVEL = 255, HASH_BYTES = 32;
const U32 = 2 ** 32 - 1, KEYS_MOST = 2 ** 48 - 1;

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

class Failure extends Error {}

const need = (condition, failure) => {
  if (!condition) throw new Failure(failure);
};

// SHA-256 (FIPS 180-4).

const firstBits = (root, prime) => Math.floor((root(prime) % 1) * 2 ** 32);
const PRIMES = Array.from({ length: 312 }, (_, each) => each)
  .filter((each) => each > 1 && ![2, 3, 5, 7, 11, 13, 17].some((divisor) => each > divisor && each % divisor === 0));
const START = PRIMES.slice(0, 8).map((prime) => firstBits(Math.sqrt, prime));
const ROUNDS = Uint32Array.from(PRIMES.slice(0, 64), (prime) => firstBits(Math.cbrt, prime));

export const sha256 = (...parts) => {
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

// Bytes. Integers are big-endian.

const uint = (value, size) => {
  const bytes = new Uint8Array(size);
  for (let i = size - 1, rest = value; i >= 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
};

const joined = (parts) => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
};

const bytesOf = (hex) => Uint8Array.from({ length: hex.length / 2 }, (_, i) => parseInt(hex.slice(2 * i, 2 * i + 2), 16));
const hexOf = (bytes) => Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
const base64Of = (bytes) => btoa(String.fromCharCode(...bytes));
const compare = (one, other) => {
  const size = Math.min(one.length, other.length);
  for (let i = 0; i < size; i++) if (one[i] !== other[i]) return one[i] - other[i];
  return one.length - other.length;
};
const isEqual = (one, other) => compare(one, other) === 0;
const isRising = (rows) => rows.every((row, i) => i === 0 || compare(rows[i - 1], row) < 0);
const milestoneOf = (row) => new DataView(row.buffer, row.byteOffset).getUint32(0);

// Trees of RFC 6962.

const LEAF = Uint8Array.of(0), NODE = Uint8Array.of(1), CHILDREN = Uint8Array.of(2);

const leafHash = (...parts) => sha256(LEAF, ...parts);
const nodeHash = (left, right) => sha256(NODE, left, right);

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

const rootOfRange = (size, start, run, path) => {
  const stop = start + run.length;
  need(run.length > 0 && stop <= size, `expected leaves within a tree of ${size}, found ${start} to ${stop}`);
  let used = 0;
  const root = (first, count) => {
    if (first + count <= start || first >= stop) {
      need(used < path.length, "expected more hashes in the proof");
      return path[used++];
    }
    if (count === 1) return run[first - start];
    const left = split(count);
    const below = root(first, left);
    return nodeHash(below, root(first + left, count - left));
  };
  const found = root(0, size);
  need(used === path.length, "expected fewer hashes in the proof");
  return found;
};

// Intervals: {level, number}.

const sizeOf = (level) => SMALLEST * FACTOR ** level;
const startOf = ({ level, number }) => number * sizeOf(level);
const endOf = ({ level, number }) => (number + 1) * sizeOf(level) - 1;
const lowest = (first, level) => (first <= 1 ? 0 : Math.ceil(first / sizeOf(level)));
export const completeFrom = (first) => lowest(first, 0) * SMALLEST;
const isEnd = (first, end) => completeFrom(first) <= end && (end + 1) % SMALLEST === 0;
const closed = (first, level, end) => Math.max(0, Math.floor((end + 1) / sizeOf(level)) - lowest(first, level));
const nameOf = (interval) => `milestones ${startOf(interval)} to ${endOf(interval)}`;

const cover = (first, end) => {
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

const logPlaceOfCover = (first, end) => {
  const levels = Array.from({ length: LEVELS }, (_, level) => closed(first, level, end));
  return end - first + 1 + levels.reduce((sum, each) => sum + each, 0) + levels[0] - 1;
};

// Parsing. A document differs in no byte from what JSON.stringify writes, so fields are unique and numbers plain.

const malformed = (path, expected) => new Failure(`The document is malformed: ${path || "value"}: expected ${expected}`);

const fields = (value, path, names) => {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject || Object.keys(value).join() !== names.join()) {
    throw malformed(path, `an object with exactly these fields, in this order: ${names.join(", ")}`);
  }
};

const whole = (value, path, most, least = 0) => {
  if (!Number.isInteger(value) || value < least || value > most) throw malformed(path, `a whole number from ${least} to ${most}`);
  return value;
};

const text = (value, path, most) => {
  const isText = typeof value === "string" && !/\p{Surrogate}/u.test(value) && [...value].length <= most;
  if (!isText) throw malformed(path, `a text of at most ${most} characters`);
  return value;
};

const hex = (value, path, least, most) => {
  const isHex = typeof value === "string" && /^([0-9a-f]{2})*$/.test(value) && !value.endsWith("\n");
  if (!isHex || value.length < 2 * least || value.length > 2 * most) {
    throw malformed(path, `${least} to ${most} bytes as hex in lower case`);
  }
  return bytesOf(value);
};

const base64 = (value, path, most) => {
  let bytes;
  try {
    bytes = Uint8Array.from(atob(typeof value === "string" ? value : "="), (each) => each.charCodeAt(0));
  } catch {
    throw malformed(path, "base64 with padding");
  }
  if (bytes.length > most || base64Of(bytes) !== value) throw malformed(path, `at most ${most} bytes as base64 with padding`);
  return bytes;
};

const hash = (value, path) => {
  const bytes = base64(value, path, HASH_BYTES);
  if (bytes.length !== HASH_BYTES) throw malformed(path, `${HASH_BYTES} bytes as base64`);
  return bytes;
};

const hashes = (value, path) => {
  const bytes = base64(value, path, PATH_MOST * HASH_BYTES);
  if (bytes.length % HASH_BYTES) throw malformed(path, `hashes of ${HASH_BYTES} bytes as base64`);
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, i) => bytes.subarray(HASH_BYTES * i, HASH_BYTES * (i + 1)));
};

const list = (value, path, least, most, parse) => {
  if (!Array.isArray(value) || value.length < least || value.length > most) throw malformed(path, `a list of ${least} to ${most}`);
  return value.map((each, i) => parse(each, `${path}[${i}]`));
};

const rowList = (value, path, least, most, rowBytes) => list(value, path, least, most, (row, at) => {
  const bytes = base64(row, at, rowBytes);
  if (bytes.length !== rowBytes) throw malformed(at, `${rowBytes} bytes as base64`);
  return bytes;
});

const parseLeaf = (value, path) => {
  fields(value, path, ["family", "key", "count", "root"]);
  const number = whole(value.family, `${path}.family`, 255);
  const family = FAMILIES.find((each) => each.number === number);
  if (!family) throw malformed(`${path}.family`, "a family's number");
  const key = hex(value.key, `${path}.key`, family.keyLeast, family.keyMost);
  return {
    place: joined([uint(number, 1), key]),
    count: whole(value.count, `${path}.count`, U32, 1),
    root: hash(value.root, `${path}.root`),
  };
};

// The rows of an interval of which the page has all.
const WHOLE = { before: [], after: [], path: [] };

// {root}, {before, after, path} or {level, parts}. `above`: the level of the interval, or greater.
const parseRows = (value, path, above, rowBytes) => {
  if (typeof value === "string") return { root: hash(value, path) };
  if (Object.hasOwn(Object(value), "parts")) {
    fields(value, path, ["level", "parts"]);
    const level = whole(value.level, `${path}.level`, above - 1);
    return { level, parts: list(value.parts, `${path}.parts`, 2, FACTOR, (part, at) => {
      const [number, count, rows] = list(part, at, 2, 3, (each) => each);
      return {
        number: whole(number, at, U32),
        count: whole(count, at, U32, 1),
        rows: part.length === 3 ? parseRows(rows, at, level, rowBytes) : WHOLE,
      };
    }) };
  }
  const names = ["before", "after", "path"].filter((name) => Object.hasOwn(Object(value), name));
  fields(value, path, names);
  if (names.length === 0) throw malformed(path, "a member or more");
  const side = (name) => (names.includes(name) ? rowList(value[name], `${path}.${name}`, 1, GROUP - 1, rowBytes) : []);
  const proof = names.includes("path") ? hashes(value.path, `${path}.path`) : [];
  if (names.includes("path") && proof.length === 0) throw malformed(`${path}.path`, "a hash or more");
  return { before: side("before"), after: side("after"), path: proof };
};

const parseInterval = (value, path, rowBytes) => {
  const isPresent = Object.hasOwn(Object(value), "present");
  fields(value, path, ["keys", isPresent ? "present" : "absent"]);
  const proof = { keys: whole(value.keys, `${path}.keys`, KEYS_MOST) };
  if (isPresent) {
    const found = value.present, at = `${path}.present`;
    const hasRows = Object.hasOwn(Object(found), "rows");
    fields(found, at, hasRows ? ["index", "count", "rows", "path"] : ["index", "count", "path"]);
    proof.present = {
      index: whole(found.index, `${at}.index`, KEYS_MOST),
      count: whole(found.count, `${at}.count`, U32, 1),
      rows: hasRows ? parseRows(found.rows, `${at}.rows`, LEVELS, rowBytes) : WHOLE,
      path: hashes(found.path, `${at}.path`),
    };
  } else {
    const found = value.absent, at = `${path}.absent`;
    fields(found, at, ["index", "neighbours", "path"]);
    proof.absent = {
      index: whole(found.index, `${at}.index`, KEYS_MOST),
      neighbours: list(found.neighbours, `${at}.neighbours`, 0, 2, parseLeaf),
      path: hashes(found.path, `${at}.path`),
    };
  }
  return proof;
};

const parseDocument = (bytes) => {
  if (bytes.length > BYTES_MOST) throw malformed("", `at most ${BYTES_MOST} bytes`);
  let value, isCanonical;
  try {
    const source = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(source);
    isCanonical = JSON.stringify(value) === source;
  } catch {
    throw malformed("", "a JSON document in UTF-8");
  }
  if (!isCanonical) throw malformed("", "canonical JSON: compact, each field once, integers in digits, no needless escapes");
  fields(value, "", [
    "version", "network", "first", "family", "key", "to", "total", "index", "rows", "intervals", "log_path", "checkpoint",
  ]);
  whole(value.version, "version", VERSION, VERSION);
  const family = FAMILIES.find((each) => each.name === value.family);
  if (!family) throw malformed("family", "the name of a listing's family");
  if (!/^[a-z0-9][a-z0-9.-]{0,63}$/.test(text(value.network, "network", 64))) throw malformed("network", "the name of a network");
  return {
    network: value.network,
    first: whole(value.first, "first", U32, 1),
    family,
    key: hex(value.key, "key", family.keyLeast, family.keyMost),
    end: whole(value.to, "to", U32),
    total: whole(value.total, "total", KEYS_MOST),
    index: whole(value.index, "index", KEYS_MOST),
    rows: rowList(value.rows, "rows", 0, ROWS_MOST, family.rowBytes),
    intervals: list(value.intervals, "intervals", 1, INTERVALS_MOST, (each, at) => parseInterval(each, at, family.rowBytes)),
    logPath: hashes(value.log_path, "log_path"),
    checkpoint: text(value.checkpoint, "checkpoint", CHECKPOINT_MOST),
  };
};

// Checks.

const encodeLeaf = ({ place, count, root }) =>
  joined([place.subarray(0, 1), uint(place.length - 1, 2), place.subarray(1), uint(count, 4), root]);

const recordHash = ({ level, number, keys, root }) => leafHash(uint(level, 1), uint(number, 4), uint(keys, 8), root);

const groupsOf = (rows) =>
  Array.from({ length: Math.ceil(rows.length / GROUP) }, (_, i) => leafHash(...rows.slice(GROUP * i, GROUP * (i + 1))));

const checkAbsent = (interval, keys, { index, neighbours, path }, place) => {
  const name = nameOf(interval);
  if (neighbours.length === 0) {
    need(keys === 0 && index === 0 && path.length === 0, `The key's neighbours in ${name} are missing`);
    return;
  }
  const [left, right] = neighbours.map((each) => compare(each.place, place));
  const isBefore = left < 0;
  const encloses = neighbours.length === 2 ? isBefore && right > 0 : isBefore ? index === keys - 1 : left > 0 && index === 0;
  need(encloses, `The neighbours in ${name} do not enclose the key`);
};

const rootOfGroups = (interval, count, found, page, start) => {
  const name = nameOf(interval), rows = [...found.before, ...page, ...found.after];
  const first = start - found.before.length, end = start + page.length + found.after.length;
  const isWhole = first % GROUP === 0 && (end % GROUP === 0 || end === count) && first >= 0 && end <= count;
  need(isWhole, `The rows of ${name} are not whole groups`);
  need(isRising(rows), `The rows of ${name} are not in order`);
  const milestones = rows.map(milestoneOf);
  const isOne = milestones.every((each) => Math.floor(each / SMALLEST) === Math.floor(milestones[0] / SMALLEST));
  const isInside = startOf(interval) <= milestones[0] && milestones[0] <= endOf(interval);
  need(isOne && isInside, `Rows of ${name} are of other milestones`);
  return rootOfRange(Math.ceil(count / GROUP), first / GROUP, groupsOf(rows), found.path);
};

const rootOfParts = (interval, count, { level, parts }, page, index) => {
  const name = nameOf(interval);
  const intervals = parts.map(({ number }) => ({ level, number }));
  const parent = Math.floor(parts[0].number / FACTOR);
  const areChildren = parts.every(({ number }) => Math.floor(number / FACTOR) === parent);
  const areInside = startOf(interval) <= startOf(intervals[0]) && endOf(intervals.at(-1)) <= endOf(interval);
  const areInOrder = parts.every(({ number }, i) => i === 0 || parts[i - 1].number < number);
  need(areChildren && areInside && areInOrder, `The parts of ${name} are not intervals inside it, in order`);
  need(parts.reduce((sum, part) => sum + part.count, 0) === count, `The parts of ${name} have other counts`);
  let passed = 0;
  const entries = parts.flatMap((part, i) => {
    const root = rootOfRows(intervals[i], part.count, part.rows, page, index - passed);
    passed += part.count;
    return [uint(part.number, 4), uint(part.count, 4), root];
  });
  return sha256(CHILDREN, uint(level, 1), ...entries);
};

// `index`: the place of the page's first row among the `count` rows of the interval, less than 0 if the page begins earlier.
const rootOfRows = (interval, count, found, page, index) => {
  const name = nameOf(interval);
  const start = Math.max(0, index), stop = Math.min(count, index + page.length);
  if (found.root) {
    need(start >= stop, `The page has rows of ${name} that the document does not prove`);
    return found.root;
  }
  need(start < stop, `The page has no rows of ${name}, but the document proves some`);
  if (found.parts) return rootOfParts(interval, count, found, page, index);
  return rootOfGroups(interval, count, found, page.slice(start - index, stop - index), start);
};

const checkPage = ({ first, total, index, rows }) => {
  need(rows.length > 0 || (index === 0 && total === 0), "The page has no rows, but the listing has some");
  need(index + rows.length <= total, "The page has more rows than the listing");
  need(isRising(rows), "The rows are not in order");
  need(rows.length === 0 || milestoneOf(rows[0]) >= first, "A row is older than the archive");
};

// The hash of the record that an interval must have. `passed`: the rows of the listing in the intervals before it.
const recordOf = (interval, { keys, present, absent }, place, { rows, index }, passed) => {
  if (absent) checkAbsent(interval, keys, absent, place);
  const leaves = absent ? absent.neighbours : [{
    place, count: present.count, root: rootOfRows(interval, present.count, present.rows, rows, index - passed),
  }];
  if (leaves.length === 0) return recordHash({ ...interval, keys: 0, root: sha256() });
  const found = present ?? absent;
  const root = rootOfRange(keys, found.index, leaves.map((each) => leafHash(encodeLeaf(each))), found.path);
  return recordHash({ ...interval, keys, root });
};

const checkAll = (proof, network, head, claims) => {
  const { first, end, family, key, intervals, total, index, rows } = proof;
  need(proof.network === network, `The proof is about the network ${proof.network}, not ${network}`);
  const origin = `permanode/${network}/${first}`;
  const isNamed = proof.checkpoint.startsWith(`${origin}\n${head.size}\n${base64Of(head.root)}\n\n`);
  need(isNamed, "The checkpoint in the document is another one");
  const start = completeFrom(first);
  need(isEnd(first, end), `No interval of this archive ends at milestone ${end}`);
  const expected = cover(first, end);
  need(
    intervals.length === expected.length,
    `The milestones ${start} to ${end} have ${expected.length} intervals, not ${intervals.length}`,
  );
  const sum = intervals.reduce((rest, { present }) => rest + (present?.count ?? 0), 0);
  need(sum === total, `The intervals have ${sum} rows, not ${total}`);
  checkPage(proof);
  const place = joined([uint(family.number, 1), key]);
  let passed = 0;
  const records = intervals.map((each, i) => {
    const found = recordOf(expected[i], each, place, proof, passed);
    passed += each.present?.count ?? 0;
    return found;
  });
  const record = { level: COVER_LEVEL, number: Math.floor(end / SMALLEST), keys: intervals.length, root: treeRoot(records) };
  const found = rootOfRange(head.size, logPlaceOfCover(first, end), [recordHash(record)], proof.logPath);
  need(isEqual(found, head.root), "The log does not contain these intervals with these rows");
  claims.push(`The log ${origin} with ${head.size} leaves contains these ${intervals.length} intervals.`);
  claims.push(
    `In milestones ${start} to ${end} of ${network}, ${family.name} has exactly ${total} rows under the key ${hexOf(key)}.`,
  );
  if (rows.length > 0) {
    claims.push(
      `Rows ${index} to ${index + rows.length - 1} of these, oldest first and counted from 0, are the rows in the document.`,
    );
  }
};

// What a document (Uint8Array) proves about a network. `head` is {size, root: Uint8Array} of a checkpoint whose signatures
// the caller verified. Returns {claims, failure}: sentences that hold, and the first check that fails or null.
export const checkDocument = (bytes, network, head) => {
  const claims = [];
  try {
    checkAll(parseDocument(bytes), network, head, claims);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { claims, failure: `${error.message}.` };
  }
  return { claims, failure: null };
};
