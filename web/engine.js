// The simulator as a WebAssembly file: JSON in, JSON and tables out. crates/web/src/exports.rs has its functions.
// A classic script, so that a worker made from a text can have it, too; in Node a module.
"use strict";

class CellwayEngine {
  #exports;

  // `wasm` is the file, compiled: WebAssembly.compile(octets).
  static async load(wasm) {
    const instance = await WebAssembly.instantiate(wasm, {});
    return new CellwayEngine(instance.exports);
  }

  constructor(exports) {
    this.#exports = exports;
  }

  // The description of a scenario, or its problems: { valid, ... } as `cellway check --json` prints it.
  check(request) {
    this.#ask(request);
    return this.#json("cellway_check");
  }

  // Begins a run: { done: 0 }, or { valid: false, problems } if it cannot be run.
  begin(request) {
    this.#ask(request);
    return this.#json("cellway_begin");
  }

  // Advances it: { done } from 0 to 1, or { failed } with the reason.
  advance(instants) {
    return this.#json("cellway_advance", instants);
  }

  // The tables of a run that has ended, as an ArrayBuffer for `cellwayTables`; null before.
  tables() {
    const octets = this.#call("cellway_tables");
    return octets.byteLength === 0 ? null : octets.buffer;
  }

  #ask(request) {
    const octets = new TextEncoder().encode(JSON.stringify(request));
    const at = this.#exports.cellway_ask(octets.length) >>> 0;
    new Uint8Array(this.#exports.memory.buffer, at, octets.length).set(octets);
  }

  #json(name, ...rest) {
    const octets = this.#call(name, ...rest);
    return octets.byteLength === 0 ? null : JSON.parse(new TextDecoder().decode(octets));
  }

  // Calls a function of the file; returns a copy of its answer.
  #call(name, ...rest) {
    const exports = this.#exports;
    const answer = (length) => new Uint8Array(exports.memory.buffer, exports.cellway_answer() >>> 0, length).slice();
    try {
      return answer(exports[name](...rest) >>> 0);
    } catch (trap) {
      const words = exports.cellway_panic() >>> 0;
      throw words === 0 ? trap : new Error(new TextDecoder().decode(answer(words)), { cause: trap });
    }
  }
}

// The tables of a run: { ...about, summary: [{ subject, metric, unit, value }], series: [{ subject, metric, unit, t, value }] }
// with Float64Arrays for t and value.
function cellwayTables(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  let at = 8 + length;
  const numbers = (count) => {
    const column = new Float64Array(buffer, at, count);
    at += column.byteLength;
    return column;
  };
  const values = numbers(about.summary.length);
  const summary = about.summary.map(([subject, metric, unit], row) => ({ subject, metric, unit, value: values[row] }));
  const series = about.series.map(([subject, metric, unit, rows]) => {
    const t = numbers(rows);
    return { subject, metric, unit, t, value: numbers(rows) };
  });
  return { ...about, summary, series };
}

if (typeof module !== "undefined") {
  module.exports = { CellwayEngine, cellwayTables };
}
