// node proof_driver.mjs FOLDER: checks proofs with the served proof.js in FOLDER. Stdin: JSON lines of cases, stdout: of results.
import { createInterface } from "node:readline";

const { bytesOf, check, parseKeys } = await import(`${process.argv[2]}/proof.js`);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, raw, proof, keys, threshold } = JSON.parse(line);
  let result;
  try {
    result = check({ id, raw: bytesOf(raw), proof, keys: parseKeys(keys), threshold });
  } catch (error) {
    result = { error: error.message };
  }
  console.log(JSON.stringify(result));
}
