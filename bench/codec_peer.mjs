// The peer of bench/codec.py: npm @iota/iota.js 1.8.6 on the same messages.
// node codec_peer.mjs MODULES_DIR MESSAGES_FILE SECONDS: one hex message a line; prints one JSON line.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const [modules, file, seconds] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { deserializeMessage } = require("@iota/iota.js");
const { Blake2b } = require("@iota/crypto.js");
const { Converter, ReadStream } = require("@iota/util.js");

const messages = fs.readFileSync(file, "utf8").trim().split("\n").map((line) => Converter.hexToBytes(line));

function pass() {
    let size = 0;
    const ids = [];
    for (const bytes of messages) {
        const message = deserializeMessage(new ReadStream(bytes));
        ids.push(Converter.bytesToHex(Blake2b.sum256(bytes)));
        size += JSON.stringify(message).length;
    }
    return { ids, size };
}

function measure(wanted) {
    const start = process.hrtime.bigint();
    let elapsed = 0;
    let passes = 0;
    while (elapsed < wanted) {
        pass();
        passes += 1;
        elapsed = Number(process.hrtime.bigint() - start) / 1e9;
    }
    return (passes * messages.length) / elapsed;
}

measure(1); // the compiler of node has seen the code by then
const rate = measure(Number(seconds));
const digest = Converter.bytesToHex(Blake2b.sum256(Converter.utf8ToBytes(pass().ids.join(""))));
console.log(JSON.stringify({ rate, digest }));
