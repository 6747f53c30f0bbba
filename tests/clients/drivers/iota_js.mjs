// Asks a node through iota.js. Arguments: endpoint, base path, mnemonic. A call is [name, ...arguments], where
// {"hex": …} stands for bytes and null for an argument that is left out; the name "" asks for the client's own methods.
import { createInterface } from "node:readline";
import { Converter } from "@iota/util.js";
import * as iota from "@iota/iota.js";

const [endpoint, basePath, mnemonic] = process.argv.slice(2);
const client = new iota.SingleNodeClient(endpoint, { basePath });
const seed = iota.Ed25519Seed.fromMnemonic(mnemonic);

/** How many empty addresses end a search: more than lie between two that are used. */
const EMPTY_ADDRESSES = 20;

/** What iota.js builds from several answers; wallets call these. */
const functions = {
    "": async () => Object.getOwnPropertyNames(iota.SingleNodeClient.prototype),
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
    const [name, ...given] = JSON.parse(line);
    const call = functions[name] ?? client[name].bind(client);
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
