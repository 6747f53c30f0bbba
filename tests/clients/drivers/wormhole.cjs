// Asks a server through Wormhole's SDK for web pages. Argument: base URL. A call is [name, ...arguments]: "getSignedVAA"
// and "getCurrentGuardianSet" go to the gRPC-web service by @certusone/wormhole-sdk-proto-web, other names are functions
// of @wormhole-foundation/sdk-connect/whscan-api. A message is [chain id, emitter as hex, sequence as text]. Bytes are
// printed as hex. `refused` is null if the SDK has no name for a chain.
// grpc-web looks for fetch in a web page's global object. Node has the function under another name.
globalThis.self = globalThis;
const { createInterface } = require("node:readline");
const { publicrpc } = require("@certusone/wormhole-sdk-proto-web");

const base = process.argv[2];
const client = new publicrpc.PublicRPCServiceClientImpl(new publicrpc.GrpcWebImpl(base, {}));

async function main() {
    const { toChain } = await import("@wormhole-foundation/sdk-base");
    const { UniversalAddress } = await import("@wormhole-foundation/sdk-definitions");
    const scan = await import("@wormhole-foundation/sdk-connect/whscan-api");

    const functions = {
        getSignedVAA: async ([emitterChain, emitterAddress, sequence]) =>
            (await client.GetSignedVAA({ messageId: { emitterChain, emitterAddress, sequence } })).vaaBytes,
        getSignedVAAOfNothing: () => client.GetSignedVAA({}),
        getCurrentGuardianSet: async () => (await client.GetCurrentGuardianSet({})).guardianSet
    };

    const message = ([chain, emitter, sequence]) => ({
        chain: toChain(chain), emitter: new UniversalAddress(emitter, "hex"), sequence: BigInt(sequence)
    });

    const encoded = (_, value) => {
        if (value?.type === "Buffer") {
            return Buffer.from(value.data).toString("hex");
        }
        return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
    };

    for await (const line of createInterface({ input: process.stdin })) {
        const [name, ...given] = JSON.parse(line);
        let found;
        try {
            const answer = functions[name]
                ? await functions[name](...given)
                : await scan[name](base, ...given.map(each => (Array.isArray(each) ? message(each) : each)));
            found = { answer: answer ?? null };
        } catch (error) {
            const isUnknown = error.message.startsWith("Cannot convert to Chain");
            const status = error.response?.status ?? error.code;
            if (!isUnknown && !Number.isInteger(status)) {
                throw error;
            }
            found = { refused: isUnknown ? null : status, message: error.message };
        }
        process.stdout.write(`${JSON.stringify(found, encoded)}\n`);
    }
}

main();
