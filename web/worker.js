// Runs the simulator beside the page, so that the page never waits for it. Follows engine.js in one text.
// From the page: { wasm } once; then { check: request }, { run: request } or { goOn: true }.
// To the page: { checked }, { refused }, { done, seconds }, { long: seconds }, { tables, seconds }, { failed }; each has the
// `number` of its request.
"use strict";

// The time of a slice (ms), and the time of a run (s) above which the page is asked first.
const SLICE = 25;
const LONG = 20;

let wasm;

onmessage = async ({ data }) => {
  if (data.goOn) {
    return;
  }
  if (data.wasm) {
    wasm = data.wasm;
    return;
  }
  try {
    const engine = await CellwayEngine.load(wasm);
    if (data.check) {
      postMessage({ number: data.number, checked: engine.check(data.check) });
    } else if (data.run) {
      await run(engine, data.run, data.number);
    }
  } catch (error) {
    postMessage({ number: data.number, failed: String(error.message ?? error) });
  }
};

async function run(engine, request, number) {
  const begun = engine.begin(request);
  if (begun.valid === false) {
    postMessage({ number, refused: begun });
    return;
  }
  let instants = 256;
  let asked = false;
  let waited = 0;
  const start = performance.now();
  for (;;) {
    const before = performance.now();
    const { done, failed } = engine.advance(instants);
    if (failed) {
      postMessage({ number, failed });
      return;
    }
    const now = performance.now();
    const seconds = (now - start - waited) / 1000;
    if (done === 1) {
      const tables = engine.tables();
      postMessage({ number, tables, seconds }, [tables]);
      return;
    }
    postMessage({ number, done, seconds });
    const left = (seconds / done) * (1 - done);
    if (!asked && done > 0 && seconds > 1 && left > LONG) {
      asked = true;
      postMessage({ number, long: left });
      await new Promise((resolve) => addEventListener("message", ({ data }) => data.goOn && resolve()));
      waited = performance.now() - now;
    }
    const ratio = SLICE / Math.max(now - before, 1);
    instants = Math.max(1, Math.round(instants * Math.min(4, ratio)));
  }
}
