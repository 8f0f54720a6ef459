// The messages between a page and its worker, and the answers of the engine. crates/web documents the latter.

/** A scenario, and which of its runs is meant: `Request` of crates/web. */
export interface Request {
  text: string;
  /** Keys to set before the check, each with its value, as `--set` of the command line. */
  set?: [key: string, value: string][];
  /** The point of its sweep, from 0. */
  point?: number;
  /** The replication, from 0. */
  replication?: number;
}

export interface Problem {
  message: string;
  key?: string;
  /** From 1. */
  line?: number;
  column?: number;
  /** The setting that caused it, if it is not in the text. */
  setting?: string;
  suggestion?: string;
  accepted?: string;
}

/** A scenario that cannot be run. */
export interface Refused {
  valid: false;
  problems: Problem[];
  /** The number of problems that are not listed. */
  more: number;
}

/** The description of a scenario that can be run. */
export interface Described {
  valid: true;
  name: string;
  warnings: Problem[];
  more?: number;
  duration_s: number;
  points: number;
  seeds: number;
  axes: { name: string; values: (string | number)[] }[];
}

export type Checked = Refused | Described;

/** A key that a text has; `Key` of crates/scenario. */
export interface Key {
  /** As for `--set` of the command line. */
  path: string;
  /** As it is written, quotation marks included. */
  value: string;
  /** From 1. */
  line: number;
  about: string;
  /** The values that are accepted, if it is an enumeration. */
  values: string[] | null;
  /** Its type in the schema: "string", "integer", "number", "boolean". */
  kind: string;
  /** True if the sweep sets it, so that no setting can. */
  swept: boolean;
}

/** To the worker. The first message has the compiled file. */
export type Ask =
  | { wasm: WebAssembly.Module }
  | { goOn: true }
  | { number: number; check: Request }
  | { number: number; keys: Request }
  | { number: number; write: Request }
  | { number: number; run: Request; live: boolean };

/** From the worker, with the number of what was asked. */
export type Answer = { number: number } & (
  | { checked: Checked }
  | { keys: Key[] | Refused }
  | { written: { text: string } | Refused }
  | { refused: Refused }
  | { done: number; seconds: number; soFar?: ArrayBuffer }
  | { long: number }
  | { tables: ArrayBuffer; seconds: number }
  | { failed: string }
);
