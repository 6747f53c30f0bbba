// Runs cases of standard input, a JSON object a line, and prints as JSON what each returns or the error that it throws.
// Other errors than ArchiveError have their class before the text.
//   { frame }                unpacks a block
//   { manifest, id }         finds an id
//   { manifest, page }       proves a page of a listing
//   { url, id, timeout_s }   finds an id over HTTP
// All files of `manifest` have `length` zero bytes, except `pieces`: pairs of a position and bytes as hex, which may be
// behind the others. `parts` of the output are the sizes of the parts that were read, and `at_once` is how many of them were
// read at the same time.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { Archive, ArchiveError, openArchive, unpackBlock } = await import(pathToFileURL(process.argv[2]).href);

class Reader {
  constructor({ pieces = [], length = 1000 }) {
    this.pieces = pieces.map(([at, bytes]) => [at, new Uint8Array(Buffer.from(bytes, "hex"))]);
    Object.assign(this, { length, parts: [], open: 0, most: 0 });
  }

  async part(name, start, size) {
    this.parts.push(size);
    this.most = Math.max(this.most, ++this.open);
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.open--;
    if (!(size > 0)) throw new Error(`a part of ${size} bytes was read`);
    const data = new Uint8Array(Math.max(0, Math.min(size, this.length - start)));
    for (const [at, bytes] of this.pieces) {
      if (at <= start && start + size <= at + bytes.length) return bytes.subarray(start - at, start - at + size);
      if (start <= at && at + bytes.length <= start + data.length) data.set(bytes, at - start);
    }
    return data;
  }
}

const run = async (given, reader) => {
  if (given.frame !== undefined) {
    return Buffer.from(unpackBlock(new Uint8Array(Buffer.from(given.frame, "hex")), "file")).toString("hex");
  }
  if (given.url !== undefined) return (await openArchive(given.url, given.timeout_s)).find(given.id);
  const archive = new Archive(reader, given.manifest);
  return given.page === undefined ? archive.find(given.id) : archive.proveListing(...given.page);
};

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const given = JSON.parse(line), reader = new Reader(given);
  let result = null, error = null;
  try {
    result = await run(given, reader);
  } catch (thrown) {
    error = thrown instanceof ArchiveError ? thrown.message : `${thrown.name}: ${thrown.message}`;
  }
  console.log(JSON.stringify({ result, error, parts: reader.parts, at_once: reader.most }));
}
