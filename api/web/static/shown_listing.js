// What the proofs of a page show about the rows that it shows. No DOM, no network.

import { checkDocument, completeFrom } from "./listing_proof.js";
import { openCheckpoint } from "./log_note.js";

const hexOf = (base64) => Array.from(atob(base64), (each) => each.charCodeAt(0).toString(16).padStart(2, "0")).join("");

// The documents in a response of proof=complete, at the top or in its envelope.
export const documentsOf = (answer) => {
  const { proof, proofs } = answer.data ?? answer;
  return proofs ?? [proof];
};

// Compares a page with its proofs. documents: JSON objects; network: its name; verifier: of parseVerifier, or null;
// families: that the page shows, with `key`, hex; shown: [{ row, milestone }], ids as hex as they end or are inside row
// ids, milestone null if the page does not show it. Returns checks, as { passed, text }; `passed` is null for a check that
// cannot be made. `last` is the last proved milestone, `proved` the number of rows shown that the proofs contain.
export const checkShown = ({ documents, network, verifier, families, key, shown }) => {
  const checks = [];
  const add = (passed, text) => checks.push({ passed, text });
  const isOfPage = documents.length === families.length
    && documents.every((each, i) => each.family === families[i] && each.key === key);
  add(isOfPage, `The proofs are about ${isOfPage ? "" : "NOT "}${families.join(", ")} with the key ${key}.`);
  const found = new Set(), rows = [];
  let last = Infinity, first = 0;
  for (const document of documents) {
    const head = openCheckpoint(document.checkpoint, verifier);
    const { claims, failure } = checkDocument(new TextEncoder().encode(JSON.stringify(document)), network, head);
    claims.forEach((each) => add(true, each));
    if (failure) add(false, failure);
    add(verifier ? head.isSigned : null, verifier
      ? `${verifier.name} ${head.isSigned ? "signed" : "did NOT sign"} this log.`
      : `The signature of the log ${head.origin} is not checked without its key.`);
    last = Math.min(last, document.to);
    first = Math.max(first, completeFrom(document.first));
    rows.push(document.rows.map(hexOf));
  }
  const indexOf = (of, id) => of.findIndex((row) => row.includes(id));
  for (const of of rows) {
    const places = shown.map(({ row }) => indexOf(of, row));
    places.forEach((place, i) => place >= 0 && found.add(i));
    const inside = new Set(places);
    const left = of.filter((_, place) => !inside.has(place) && place > 0 && place < of.length - 1);
    if (left.length) add(false, `The page leaves out ${left.length} rows between those that it shows.`);
  }
  const isProvable = ({ milestone }) => milestone !== null && first <= milestone && milestone <= last;
  const foreign = shown.filter((each, i) => !found.has(i) && isProvable(each));
  if (foreign.length) add(false, `${foreign.length} of the rows shown are in no proof.`);
  const later = shown.length - found.size - foreign.length;
  add(found.size === shown.length ? true : null, `${found.size} of the ${shown.length} rows shown are proved${
    later ? `; the others are not in milestones ${first} to ${last}, or pending` : ""}.`);
  return { checks, last, proved: found.size };
};
