// Checks of a proof of inclusion, from the bytes of the message and the JSON of the proof. No DOM, no network.
// Layouts: TIP-8 and TIP-17 (Chrysalis), TIP-29 and TIP-34 (Stardust). Integers are little-endian.

import { ed25519 } from "./vendor/curves/ed25519.js";
import { blake2b } from "./vendor/hashes/blake2.js";

const STEPS_MAX = 32;
const CHRYSALIS_MILESTONE = 1, STARDUST_MILESTONE = 7;

export const bytesOf = (hex) => {
  const digits = String(hex).replace(/^0x/, "");
  if (!/^([0-9a-fA-F]{2})*$/.test(digits)) throw new Error(`not hex: ${digits.slice(0, 80)}`);
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
};

export const hexOf = (bytes) => Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");

const hash = (...parts) => blake2b(joined(parts), { dkLen: 32 });

const joined = (parts) => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
};

const uint = (value, size) => {
  let rest = BigInt(value);
  if (rest < 0n || rest >= 1n << BigInt(8 * size)) throw new Error(`not a number of ${size} bytes: ${value}`);
  return Uint8Array.from({ length: size }, () => {
    const low = Number(rest & 255n);
    rest >>= 8n;
    return low;
  });
};

const u8 = (value) => uint(value, 1), u16 = (value) => uint(value, 2), u32 = (value) => uint(value, 4), u64 = (value) => uint(value, 8);

const fixed = (hex, size) => {
  const bytes = bytesOf(hex);
  if (bytes.length !== size) throw new Error(`${size} bytes expected, found ${bytes.length}`);
  return bytes;
};

const withLength = (bytes) => joined([u32(bytes.length), bytes]);

const fundsOf = (receipt) => joined(receipt.funds.map((each) => joined([
  fixed(each.tailTransactionHash, 49),
  u8(each.address.type),
  fixed(each.address.address ?? each.address.pubKeyHash, 32),
  u64(each.deposit),
])));

const treasuryOf = ({ type, input, output }) => withLength(joined([
  u32(type), u8(input.type), fixed(input.milestoneId, 32), u8(output.type), u64(output.amount),
]));

const receiptOf = (receipt, type) => joined([
  type(receipt.type),
  u32(receipt.migratedAt),
  u8(receipt.final ? 1 : 0),
  u16(receipt.funds.length),
  fundsOf(receipt),
  treasuryOf(receipt.transaction),
]);

const optionOf = (option) => {
  if (option.type === 0) return receiptOf(option, u8);
  if (option.type !== 1) throw new Error(`a milestone option of unknown type ${option.type}`);
  const params = bytesOf(option.params);
  return joined([u8(1), u32(option.targetMilestoneIndex), u8(option.protocolVersion), u16(params.length), params]);
};

const chrysalisEssence = (milestone) => joined([
  u32(milestone.index),
  u64(milestone.timestamp),
  u8(milestone.parentMessageIds.length),
  ...milestone.parentMessageIds.map((each) => fixed(each, 32)),
  fixed(milestone.inclusionMerkleProof, 32),
  u32(milestone.nextPoWScore),
  u32(milestone.nextPoWScoreMilestoneIndex),
  u8(milestone.publicKeys.length),
  ...milestone.publicKeys.map((each) => fixed(each, 32)),
  withLength(milestone.receipt ? receiptOf(milestone.receipt, u32) : new Uint8Array()),
]);

const stardustEssence = (milestone) => {
  const metadata = bytesOf(milestone.metadata ?? "");
  const options = milestone.options ?? [];
  return joined([
    u32(milestone.index),
    u32(milestone.timestamp),
    u8(milestone.protocolVersion),
    fixed(milestone.previousMilestoneId, 32),
    u8(milestone.parents.length),
    ...milestone.parents.map((each) => fixed(each, 32)),
    fixed(milestone.inclusionMerkleRoot, 32),
    fixed(milestone.appliedMerkleRoot, 32),
    u16(metadata.length),
    metadata,
    u8(options.length),
    ...options.map(optionOf),
  ]);
};

// What differs between the eras: the essence, the signatures as [key, signature], the roots by claim.
const formOf = (milestone) => {
  if (milestone.type === CHRYSALIS_MILESTONE) {
    if (milestone.publicKeys.length !== milestone.signatures.length) throw new Error("a signature for each key expected");
    const essence = chrysalisEssence(milestone);
    const signatures = milestone.signatures.map((each) => fixed(each, 64));
    const id = hash(u32(CHRYSALIS_MILESTONE), essence, u8(signatures.length), ...signatures);
    return {
      id, signed: hash(essence), roots: { applied: milestone.inclusionMerkleProof },
      signatures: milestone.publicKeys.map((key, at) => [fixed(key, 32), signatures[at]]),
    };
  }
  if (milestone.type === STARDUST_MILESTONE) {
    const id = hash(stardustEssence(milestone));
    return {
      id, signed: id,
      roots: { applied: milestone.appliedMerkleRoot, referenced: milestone.inclusionMerkleRoot },
      signatures: milestone.signatures.map((each) => [fixed(each.publicKey, 32), fixed(each.signature, 64)]),
    };
  }
  throw new Error(`a milestone of unknown type ${milestone.type}`);
};

// The leaf, and the root that the tree's hashes lead to. Every node has one hash and one way to the leaf.
const pathOf = (node, levels = STEPS_MAX) => {
  const keys = Object.keys(node).sort().join();
  if (keys === "l" && levels === STEPS_MAX) return leafOf(node.l);
  if (keys !== "l,r" || levels === 0) throw new Error("the path is malformed");
  const hashed = ["l", "r"].filter((side) => Object.keys(node[side]).join() === "h");
  if (hashed.length !== 1) throw new Error("the path is malformed: a hash on one side of each node expected");
  const sibling = fixed(node[hashed[0]].h, 32);
  const onward = node[hashed[0] === "l" ? "r" : "l"];
  const found = Object.keys(onward).join() === "value" ? leafOf(onward) : pathOf(onward, levels - 1);
  const root = hashed[0] === "l" ? hash(u8(1), sibling, found.root) : hash(u8(1), found.root, sibling);
  return { leaf: found.leaf, root, steps: found.steps + 1 };
};

const leafOf = (node) => {
  const leaf = fixed(node.value, 32);
  return { leaf, root: hash(u8(0), leaf), steps: 0 };
};

const isGood = ([key, signature], signed) => {
  try {
    return ed25519.verify(signature, signed, key, { zip215: true });
  } catch {
    return false;
  }
};

const indexOf = (text, missing) => {
  if (!text) return missing;
  if (!/^[0-9]+$/.test(text)) throw new Error(`a milestone index expected, found ${text.slice(0, 80)}`);
  return Number(text);
};

// KEY, KEY:FIRST or KEY:FIRST:LAST, separated by commas or spaces.
export const parseKeys = (text) => text.split(/[\s,]+/).filter(Boolean).map((each) => {
  const [key, first, last] = each.split(":");
  return { key: hexOf(fixed(key, 32)), first: indexOf(first, 0), last: indexOf(last, Infinity) };
});

const signersOf = (keys, index) => new Set(keys.filter((each) => each.first <= index && index <= each.last).map((each) => each.key));

// The default threshold: the number of keys that may sign the milestone which the fewest may sign.
const fewestSigners = (keys) => {
  const edges = keys.flatMap((each) => [each.first, each.last + 1]).filter(Number.isFinite);
  return Math.min(...edges.map((edge) => signersOf(keys, edge).size).filter(Boolean));
};

// All checks, as { passed, text }, and the claim that they prove. `passed` is null for a check that cannot be made.
// id: of the message, raw: its bytes, proof: JSON, keys: of parseKeys, threshold: signatures that a milestone needs.
export const check = ({ id, raw, proof, keys, threshold }) => {
  const checks = [];
  const add = (passed, text) => checks.push({ passed, text });
  const found = hexOf(hash(raw)), wanted = id.replace(/^0x/, "");
  const isId = found === wanted;
  add(isId, `The hash of the ${raw.length} bytes is ${found}, ${isId ? "the id" : `not the id ${wanted}`}.`);
  const path = pathOf(proof.proof);
  const leaf = hexOf(path.leaf);
  add(leaf === found, `The path in the proof begins with ${leaf === found ? "this id" : `${leaf}, which is another id`}.`);
  const { milestone } = proof;
  const form = formOf(milestone);
  const claim = Object.keys(form.roots).find((each) => hexOf(fixed(form.roots[each], 32)) === hexOf(path.root));
  const root = claim ? `the Merkle root of what milestone ${milestone.index} ${claim}` : `no Merkle root of milestone ${milestone.index}`;
  add(claim !== undefined, `${path.steps} ${path.steps === 1 ? "step leads" : "steps lead"} to ${hexOf(path.root)}, ${root}.`);
  add(true, `The id of milestone ${milestone.index}, computed from its content, is ${hexOf(form.id)}.`);
  if (!form.signatures.length) add(false, "The milestone has no signature.");
  const seen = new Set();
  const allowed = signersOf(keys, milestone.index);
  let trusted = 0;
  for (const pair of form.signatures) {
    const key = hexOf(pair[0]);
    const good = isGood(pair, form.signed) && !seen.has(key);
    seen.add(key);
    if (good && allowed.has(key)) trusted += 1;
    const origin = !keys.length ? "a key that only the proof contains" : allowed.has(key) ? "a key of the coordinator" : "NOT a key of the coordinator";
    add(good && (!keys.length || allowed.has(key)), `The signature of ${key} ${good ? "matches" : "does NOT match"} the milestone: ${origin}.`);
  }
  if (keys.length) {
    const needed = threshold || fewestSigners(keys);
    add(trusted >= needed, `${trusted} of the coordinator's keys signed; ${needed} are required.`);
  } else {
    add(null, "Nobody stated the keys of the coordinator. Anybody can sign a milestone: compare the keys with ones that you trust.");
  }
  return { checks, claim, index: milestone.index };
};
