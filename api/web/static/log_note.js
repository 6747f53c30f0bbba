// Signed checkpoints of a log (C2SP signed-note and tlog-checkpoint), like ledger/transparency. No DOM, no network.

import { sha256 } from "./listing_proof.js";
import { ed25519 } from "./vendor/curves/ed25519.js";

const SIGNATURE = 1, KEY_BYTES = 32, ID_BYTES = 4;

const encoded = (text) => new TextEncoder().encode(text);

const fromBase64 = (text) => {
  const found = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  if (btoa(String.fromCharCode(...found)) !== text) throw new Error(`not Base64: ${text.slice(0, 80)}`);
  return found;
};

const isEqual = (one, other) => one.length === other.length && one.every((each, i) => each === other[i]);

// A verifier key, NAME+ID+BASE64, as `permanode log key` prints it. Throws an Error for another text.
export const parseVerifier = (text) => {
  const parts = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text.trim());
  if (!parts) throw new Error("a key NAME+ID+BASE64 expected");
  const name = parts[1], data = fromBase64(parts[3]);
  if (data[0] !== SIGNATURE || data.length !== 1 + KEY_BYTES) throw new Error("the key of a log expected, Ed25519");
  const id = sha256(encoded(`${name}\n`), data).subarray(0, ID_BYTES);
  if (Array.from(id, (each) => each.toString(16).padStart(2, "0")).join("") !== parts[2]) throw new Error("the id of the key is wrong");
  return { name, id, key: data.subarray(1) };
};

const isGood = (signature, signed, key) => {
  try {
    return ed25519.verify(signature, signed, key, { zip215: false });
  } catch {
    return false;
  }
};

// Size and root of the checkpoint in a note, and whether the key signed it; `verifier` null: nothing is known about it.
// Throws an Error for a text that is not a note of a checkpoint.
export const openCheckpoint = (note, verifier) => {
  const end = note.lastIndexOf("\n\n");
  const text = note.slice(0, end + 1), lines = note.slice(end + 2).split("\n");
  const [origin, size, root, ...rest] = text.split("\n");
  if (end < 0 || lines.pop() !== "" || rest.join() !== "" || !/^(0|[1-9][0-9]{0,15})$/.test(size)) throw new Error("the checkpoint is malformed");
  const signatures = lines.map((line) => /^— (\S+) (\S+)$/u.exec(line));
  if (!signatures.length || signatures.includes(null)) throw new Error("the checkpoint has no signature, or a malformed one");
  const isSigned = verifier !== null && signatures.some(([, name, base64]) => {
    const data = fromBase64(base64);
    return name === verifier.name && isEqual(data.subarray(0, ID_BYTES), verifier.id)
      && isGood(data.subarray(ID_BYTES), encoded(text), verifier.key);
  });
  return { origin, size: Number(size), root: fromBase64(root), isSigned };
};
