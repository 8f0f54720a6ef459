// node run.js engine.cjs WASM < requests: runs each request, a line of JSON, in an instance of its own. Prints a line for each:
// what the engine says of it, and of a run its tables in base64 and its time (ms). `instants` of a request is the size of
// the slices.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const [, , script, wasm] = process.argv;
const { CellwayEngine } = require(path.resolve(script));

async function main() {
  const module = await WebAssembly.compile(fs.readFileSync(wasm));
  for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
    const { instants = 1024, ...request } = JSON.parse(line);
    const engine = await CellwayEngine.load(module);
    const checked = engine.check(request);
    const start = performance.now();
    let answer = engine.begin(request);
    while (answer.done < 1) {
      answer = engine.advance(instants);
    }
    const tables = engine.tables();
    const ms = performance.now() - start;
    const base64 = tables && Buffer.from(tables).toString("base64");
    process.stdout.write(`${JSON.stringify({ checked, answer, tables: base64, ms })}\n`);
  }
}

main();
