// Proves each page of standard input, a line "FAMILY KEY INDEX COUNT" each, with the archive at a URL. Prints documents,
// and an empty line for an archive that is damaged.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { ArchiveError, openArchive } = await import(pathToFileURL(process.argv[2]).href);
const archive = await openArchive(process.argv[3]);
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [family, key, index, count] = line.split(" ");
  try {
    console.log(await archive.proveListing(family, key, Number(index), Number(count)));
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    console.log("");
  }
}
