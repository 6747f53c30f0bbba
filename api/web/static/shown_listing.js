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
// families: that the page shows, with `key`, hex; shown: [{ row, milestone }], parts of row ids as hex, milestone null if the
// page does not show it; ends: those of "newest" and "oldest" at which the page is the end of the listing.
// Returns checks, as { passed, text }, where `passed` is null for a check that cannot be made; `last`, the last proved
// milestone; and `proved`, the number of rows shown that the proofs contain.
export const checkShown = ({ documents, network, verifier, families, key, shown, ends }) => {
  const checks = [];
  const add = (passed, text) => checks.push({ passed, text });
  const isOfPage = documents.length === families.length
    && documents.every((each, i) => each.family === families[i] && each.key === key);
  add(isOfPage, `The proofs are about ${isOfPage ? "" : "NOT "}${families.join(", ")} with the key ${key}.`);
  for (const document of documents) {
    const head = openCheckpoint(document.checkpoint, verifier);
    const { claims, failure } = checkDocument(new TextEncoder().encode(JSON.stringify(document)), network, head);
    claims.forEach((each) => add(true, each));
    if (failure) add(false, failure);
    add(verifier ? head.isSigned : null, verifier
      ? `${verifier.name} ${head.isSigned ? "signed" : "did NOT sign"} this log.`
      : `The signature of the log ${head.origin} is not checked without its key.`);
  }
  const last = Math.min(...documents.map((each) => each.to));
  const first = Math.max(...documents.map((each) => completeFrom(each.first)));
  const found = new Set(), seen = new Set();
  const parts = documents.map(({ family, rows, index, total }) => {
    const ids = rows.map(hexOf);
    shown.forEach(({ row }, i) => ids.forEach((id) => {
      if (!id.includes(row)) return;
      found.add(i);
      seen.add(id);
    }));
    const places = ids.flatMap((id, place) => (seen.has(id) ? [index + place + 1] : []));
    if (places.length) add(true, `Rows ${places[0]} to ${places.at(-1)} of ${total} in ${family}, the oldest first, are shown.`);
    return { ids, isFromOldest: index === 0, isToNewest: index + ids.length === total };
  });
  const [low, high] = [[...seen].sort()[0], [...seen].sort().at(-1)];
  const left = parts.flatMap(({ ids }) => ids.filter((id) => !seen.has(id) && low < id && id < high));
  if (left.length) add(false, `The page leaves out ${left.length} rows between those that it shows.`);
  const isAll = seen.size > 0 || ends.length < 2;
  const hasOldest = parts.every(({ ids, isFromOldest }) => isFromOldest && !ids.some((id) => id < low));
  const hasNewest = parts.every(({ ids, isToNewest }) => isToNewest && !ids.some((id) => id > high));
  if (seen.size > 0 && ends.includes("oldest") && !hasOldest) add(false, "The page leaves out the oldest rows.");
  if (seen.size > 0 && ends.includes("newest") && !hasNewest) add(false, `The page leaves out the newest rows up to milestone ${last}.`);
  if (!isAll && parts.some(({ ids }) => ids.length)) add(false, "The page shows none of the rows.");
  const isProvable = ({ milestone }) => milestone !== null && first <= milestone && milestone <= last;
  const foreign = shown.filter((each, i) => !found.has(i) && isProvable(each));
  if (foreign.length) add(false, `${foreign.length} of the rows shown are in no proof.`);
  const later = shown.length - found.size - foreign.length;
  add(found.size === shown.length ? true : null, `${found.size} of the ${shown.length} rows shown are proved${
    later ? `; the others are not in milestones ${first} to ${last}, or pending` : ""}.`);
  return { checks, last, proved: found.size };
};
