// Asks a node through the Rust clients compiled to WebAssembly. Arguments: "sdk" (@iota/sdk-wasm 1.1.3) or "client"
// (@iota/client-wasm 0.4.0), endpoint. A call is [name, ...arguments]; a name "message.raw" or "address.balance" is a
// function of the builder that client-wasm has for messages and addresses. Bytes are arrays of numbers.
const { createInterface } = require("node:readline");

const [kind, endpoint] = process.argv.slice(2);

const NOT_FOUND = /was not found/;
const STATUS = /status code (\d+): (.*?)(, URL: .*)?$/s;

/** The client, as a function of a call. */
async function connect() {
    if (kind === "sdk") {
        const { Client } = require("@iota/sdk-wasm/node");
        const client = new Client({ nodes: [endpoint] });
        return (name, given) => client[name](...given);
    }
    const { ClientBuilder } = require("@iota/client-wasm/node");
    const client = await new ClientBuilder().node(endpoint).localPow(false).build();
    const builders = { message: () => client.getMessage(), address: () => client.getAddress() };
    return (name, given) => {
        const [builder, method] = name.split(".");
        return method ? builders[builder]()[method](...given) : client[name](...given);
    };
}

/** The text of an error: sdk-wasm throws JSON. */
function textOf(error) {
    return typeof error === "string" && error.startsWith("{") ? JSON.parse(error).payload.error : error.message;
}

function encoded(_, value) {
    return value instanceof Uint8Array ? [...value] : value;
}

async function answer(client, line) {
    const [name, ...given] = JSON.parse(line);
    try {
        return { answer: (await client(name, given)) ?? null };
    } catch (error) {
        const text = textOf(error);
        if (NOT_FOUND.test(text)) {
            return { refused: 404, message: text };
        }
        const [, status, message] = STATUS.exec(text) ?? [];
        return status ? { refused: Number(status), message } : { refused: null, message: text };
    }
}

async function main() {
    const client = await connect();
    for await (const line of createInterface({ input: process.stdin })) {
        process.stdout.write(`${JSON.stringify(await answer(client, line), encoded)}\n`);
    }
    // The client keeps timers that would delay the end of the process.
    process.stdout.write("", () => process.exit(0));
}

main();
