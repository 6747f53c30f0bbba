// node driver.mjs CHECKER CASES: checks documents with listing_proof.js. CASES: JSON lines of network, size, root, document
// (hex and base64). Stdout: JSON lines of verdicts.
import { readFileSync } from "node:fs";

const { checkDocument } = await import(process.argv[2]);

const verdicts = readFileSync(process.argv[3], "utf8").trimEnd().split("\n").map((line) => {
  const { network, size, root, document } = JSON.parse(line);
  const head = { size, root: new Uint8Array(Buffer.from(root, "hex")) };
  return JSON.stringify(checkDocument(new Uint8Array(Buffer.from(document, "base64")), network, head));
});
process.stdout.write(`${verdicts.join("\n")}\n`);
