// Finds each id of standard input, one per line, in the archive at a URL, and prints what was found as a line of JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { openArchive } = await import(pathToFileURL(process.argv[2]).href);
const archive = await openArchive(process.argv[3]);
for (const id of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const found = await archive.find(id);
  const { what, record, outputIndex } = found ?? { what: null, record: { data: [] } };
  const { milestoneIndex, position, inclusionState, conflictReason, data } = record;
  const bytes = Buffer.from(data).toString("hex");
  console.log(JSON.stringify({ what, milestoneIndex, position, inclusionState, conflictReason, bytes, outputIndex }));
}
