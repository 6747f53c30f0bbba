// What the generated operations.ts is written in: a client typed by the contract, and how its answers are printed.
// Argument: base URL.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

export const client = createClient<paths>({ baseUrl: process.argv[2] });

/** The body of an answer; nothing fits it where the contract has none in JSON. */
export type Answer<Path extends keyof paths, Method extends "get" | "post", Status extends number> = paths[Path] extends {
    [M in Method]: { responses: { [S in Status]: { content: { "application/json": infer Body } } } };
}
    ? Body
    : never;

/** Prints one answer; bytes as hex. */
export function print({ data, error, response }: { data?: unknown; error?: unknown; response: Response }): void {
    const answer = data instanceof ArrayBuffer ? Buffer.from(data).toString("hex") : data;
    const told = response.ok ? { answer } : { refused: response.status, message: error };
    process.stdout.write(`${JSON.stringify(told)}\n`);
}

/** What the compiler has to refuse; it complains about each of these lines that it does not. */
export function refused(): void {
    // @ts-expect-error: a path that the contract lacks
    client.GET("/api/{network}/nothing", { params: { path: { network: "a" } } });
    // @ts-expect-error: an alias, which the contract does not describe as an operation
    client.GET("/api/v1/tips");
    // @ts-expect-error: a path parameter is missing
    client.GET("/api/{network}/milestones/{index}", { params: { path: { network: "a" } } });
    // @ts-expect-error: the network is missing
    client.GET("/api/{network}/tips");
    // @ts-expect-error: no index is asked for
    client.GET("/api/{network}/messages", { params: { path: { network: "a" }, query: { page_size: 1 } } });
    // @ts-expect-error: a word that is not among those of the parameter
    client.GET("/api/{network}/messages", { params: { path: { network: "a" }, query: { index: "78", sort: "best" } } });
    // @ts-expect-error: a body without its content
    const body: Answer<"/api/{network}/milestones/{index}", "get", 200> = { data: { index: 1 } };
    void body;
    // @ts-expect-error: a status that the contract lacks
    const teapot: Answer<"/api/{network}/tips", "get", 418> = { error: { code: "418", message: "" } };
    void teapot;
}
