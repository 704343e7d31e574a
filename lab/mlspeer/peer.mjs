// A peer for the tests of internal/mls: ts-mls behind lines of JSON.
//
// One request a line on stdin, {"id": 1, "verb": "commit", …}; one answer a line on
// stdout, {"id": 1, "result": {…}} or {"id": 1, "error": "…"}. Requests are answered
// in order. Byte strings are base64. Clients and groups have names given by whoever
// asks, so one process plays any number of people. It ends with its stdin.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import * as clients from "./client.mjs";
import * as groups from "./group.mjs";
import { SUITES } from "./suite.mjs";

const verbs = { hello, ...clients.verbs, ...groups.verbs };

function hello() {
  const about = JSON.parse(readFileSync(new URL("node_modules/ts-mls/package.json", import.meta.url)));
  return { node: process.versions.node, library: `${about.name} ${about.version}`, suites: SUITES };
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { id, verb, ...args } = JSON.parse(line);
  let answer;
  try {
    if (!Object.hasOwn(verbs, verb)) throw new Error(`no verb ${verb}`);
    answer = { id, result: (await verbs[verb](args)) ?? {} };
  } catch (e) {
    answer = { id, error: `${verb}: ${e.name}: ${e.message}`, stack: e.stack };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
