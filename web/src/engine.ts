// The simulator as a WebAssembly file: JSON in, JSON and numbers out. crates/web/src/exports.rs has its functions.

import type { Checked, Key, Refused, Request } from "./protocol.ts";

type Begun = { done: number } | Refused;
type Advanced = { done: number; failed?: undefined } | { failed: string; done?: undefined } | null;

type Functions = Record<string, (...numbers: number[]) => number>;

export class CellwayEngine {
  readonly #exports: Functions;
  readonly #memory: WebAssembly.Memory;

  /** @param wasm The compiled file: `WebAssembly.compile(octets)`. */
  static async load(wasm: WebAssembly.Module): Promise<CellwayEngine> {
    return new CellwayEngine((await WebAssembly.instantiate(wasm, {})).exports);
  }

  private constructor(exports: WebAssembly.Exports) {
    this.#exports = exports as unknown as Functions;
    this.#memory = exports.memory as WebAssembly.Memory;
  }

  /** The description of a scenario, or its problems, as `cellway check --json` prints it. */
  check(request: Request): Checked {
    return this.#ask("cellway_check", request) as Checked;
  }

  /** The keys that the text has, in its order; the problems if it is no TOML. */
  keys(request: Request): Key[] | Refused {
    return this.#ask("cellway_keys", request) as Key[] | Refused;
  }

  /** The text with the settings of the request written into it, comments kept. */
  write(request: Request): { text: string } | Refused {
    return this.#ask("cellway_write", request) as { text: string } | Refused;
  }

  /** Begins a run: `done` is 0, unless it cannot be run. */
  begin(request: Request): Begun {
    return this.#ask("cellway_begin", request) as Begun;
  }

  /** Advances it by so many instants: `done` is from 0 to 1. */
  advance(instants: number): Advanced {
    return this.#json("cellway_advance", instants) as Advanced;
  }

  /** Advances it to a simulated time. */
  until(seconds: number): Advanced {
    return this.#json("cellway_until", seconds) as Advanced;
  }

  /** Advances it by one instant in which anything happens. */
  step(): Advanced {
    return this.#json("cellway_step") as Advanced;
  }

  /** The tables of a run that has ended, for `readTables`; null before. */
  tables(): ArrayBuffer | null {
    return this.#octets("cellway_tables");
  }

  /** The series of a run up to now, for `readTables`; its summary is empty. */
  soFar(): ArrayBuffer | null {
    return this.#octets("cellway_so_far");
  }

  /** The nodes, ports and flows of a run, or null; `Scene` of view.ts. */
  scene(): unknown {
    return this.#json("cellway_scene");
  }

  /** The state of the network now, for `readView` of view.ts. */
  view(): ArrayBuffer | null {
    return this.#octets("cellway_view");
  }

  #ask(name: string, request: Request): unknown {
    const octets = new TextEncoder().encode(JSON.stringify(request));
    const at = this.#exports.cellway_ask!(octets.length) >>> 0;
    new Uint8Array(this.#memory.buffer, at, octets.length).set(octets);
    return this.#json(name);
  }

  #json(name: string, ...rest: number[]): unknown {
    const octets = this.#octets(name, ...rest);
    return octets && JSON.parse(new TextDecoder().decode(octets));
  }

  #octets(name: string, ...rest: number[]): ArrayBuffer | null {
    const octets = this.#call(name, ...rest);
    return octets.byteLength === 0 ? null : octets.buffer;
  }

  /** Calls a function of the file; returns a copy of its answer. */
  #call(name: string, ...rest: number[]): Uint8Array<ArrayBuffer> {
    const answer = (length: number) =>
      new Uint8Array(this.#memory.buffer, this.#exports.cellway_answer!() >>> 0, length).slice();
    try {
      return answer(this.#exports[name]!(...rest) >>> 0) as Uint8Array<ArrayBuffer>;
    } catch (trap) {
      const words = this.#exports.cellway_panic!() >>> 0;
      throw words === 0 ? trap : new Error(new TextDecoder().decode(answer(words)), { cause: trap });
    }
  }
}
