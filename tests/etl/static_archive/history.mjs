// Proves each page of standard input, a line "FAMILY KEY INDEX COUNT" each, with the archive at a URL. Prints documents.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { openArchive } = await import(pathToFileURL(process.argv[2]).href);
const archive = await openArchive(process.argv[3]);
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [family, key, index, count] = line.split(" ");
  console.log(await archive.proveListing(family, key, Number(index), Number(count)));
}
