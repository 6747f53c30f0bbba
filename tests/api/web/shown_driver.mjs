// node shown_driver.mjs FOLDER: compares pages with their proofs by the served scripts in FOLDER. Stdin: JSON lines of cases.
import { createInterface } from "node:readline";

const { parseVerifier } = await import(`${process.argv[2]}/log_note.js`);
const { checkShown, documentsOf } = await import(`${process.argv[2]}/shown_listing.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const { answer, verifier, ...page } = JSON.parse(line);
  let result;
  try {
    result = checkShown({ ...page, documents: documentsOf(answer), verifier: verifier ? parseVerifier(verifier) : null });
  } catch (error) {
    result = { error: error.message };
  }
  console.log(JSON.stringify(result));
}
