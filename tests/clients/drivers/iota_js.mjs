// Asks a node through iota.js. Arguments: its package (1.8.6 or 2.0.0-rc.4), endpoint, base path, mnemonic. A call is
// [name, ...arguments], where {"hex": …} stands for bytes and null for an argument that is left out; the name "" asks
// for the client's own methods.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [name, endpoint, basePath, mnemonic] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const iota = require(name);
const { Converter, WriteStream } = createRequire(require.resolve(name))("@iota/util.js");
const client = new iota.SingleNodeClient(endpoint, { basePath });
const seed = iota.Ed25519Seed.fromMnemonic(mnemonic);

/** How many empty addresses end a search: more than lie between two that are used. */
const EMPTY_ADDRESSES = 20;

/** What iota.js builds from several answers, which wallets call, and what it knows by itself. */
const functions = {
    "": async () => Object.getOwnPropertyNames(iota.SingleNodeClient.prototype),
    indexer: (method, argument) => new iota.IndexerPluginClient(client)[method](argument),
    addressBalance: address => iota.addressBalance(client, address),
    getBalance: account => iota.getBalance(client, seed, account),
    getUnspentAddress: account => iota.getUnspentAddress(client, seed, account),
    getUnspentAddresses: account => iota.getUnspentAddresses(client, seed, account),
    retrieveData: messageId => iota.retrieveData(client, messageId),
    calculateInputs: async amount => {
        const first = { accountIndex: 0, addressIndex: 0, isInternal: false };
        const wanted = [{ address: "00".repeat(32), addressType: 0, amount }];
        const found = await iota.calculateInputs(
            client, seed, first, iota.generateBip44Address, wanted, EMPTY_ADDRESSES
        );
        return found.map(({ input, addressKeyPair }) => ({ input, publicKey: addressKeyPair.publicKey }));
    },
    serializeOutput: async output => {
        const stream = new WriteStream();
        iota.serializeOutput(stream, output);
        return stream.finalBytes();
    }
};

function decoded(argument) {
    if (argument === null) {
        return undefined;
    }
    return argument.hex === undefined ? argument : Converter.hexToBytes(argument.hex);
}

function encoded(_, value) {
    return value instanceof Uint8Array ? Converter.bytesToHex(value) : value;
}

for await (const line of createInterface({ input: process.stdin })) {
    const [method, ...given] = JSON.parse(line);
    const call = functions[method] ?? client[method].bind(client);
    let found;
    try {
        found = { answer: (await call(...given.map(decoded))) ?? null };
    } catch (error) {
        if (!(error instanceof iota.ClientError)) {
            throw error;
        }
        found = { refused: error.httpStatus, message: error.message };
    }
    process.stdout.write(`${JSON.stringify(found, encoded)}\n`);
}
