// "Verify in this browser" for a listing: loads the proofs of the page's rows, and shows each check.

import { parseVerifier } from "./log_note.js";
import { checkShown, documentsOf } from "./shown_listing.js";

const box = document.getElementById("verify-listing");

// The rows of the page as it was loaded: `More` adds rows that its proofs are not about.
const shown = Array.from(document.querySelectorAll("[data-row]"), ({ dataset }) => ({
  row: dataset.row,
  milestone: dataset.milestone ? Number(dataset.milestone) : null,
}));

const line = ({ passed, text }) => {
  const item = document.createElement("li");
  item.className = passed ? "good" : passed === false ? "bad" : "soft";
  const word = document.createElement("strong");
  word.textContent = `${passed ? "passed" : passed === false ? "failed" : "not checked"}: `;
  item.append(word, text);
  return item;
};

const RESULTS = {
  valid: (last) => `Valid: up to milestone ${last}, this page leaves out no row.`,
  unknown: (last) => `All steps passed: up to milestone ${last}, this page leaves out no row, if the log is the archive's.`,
  none: (last) => `Nothing on this page is proved: its rows are newer than milestone ${last}, pending, or from before the log.`,
  invalid: () => "Not valid: see the step that failed.",
};

const verify = async () => {
  const list = box.querySelector("ol"), result = box.querySelector(".result"), button = box.querySelector("button");
  list.replaceChildren();
  result.textContent = "Loading …";
  button.disabled = true;
  try {
    const response = await fetch(box.dataset.proof);
    if (!response.ok) throw new Error(`${box.dataset.proof}: status ${response.status}`);
    const text = box.querySelector("[name=key]").value.trim();
    const verifier = text ? parseVerifier(text) : null;
    const { network, key } = box.dataset;
    const ends = box.dataset.ends.split(" ").filter(Boolean);
    const families = box.dataset.families.split(" ");
    const documents = documentsOf(await response.json());
    const { checks, last, proved } = checkShown({ documents, network, verifier, families, key, shown, ends });
    list.append(...checks.map(line));
    const isInvalid = checks.some(({ passed }) => passed === false);
    const state = isInvalid ? "invalid" : shown.length > 0 && proved === 0 ? "none" : verifier ? "valid" : "unknown";
    result.textContent = RESULTS[state](last);
    result.dataset.state = state;
  } catch (error) {
    result.textContent = `Not verified: ${error.message}`;
    result.dataset.state = "invalid";
  }
  button.disabled = false;
};

box.hidden = false;
box.querySelector("button").addEventListener("click", verify);
