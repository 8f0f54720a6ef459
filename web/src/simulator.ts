// The simulator as a page uses it: a worker, and the newest request only.

import type { Answer, Ask, Checked, Key, Refused, Request } from "./protocol.ts";
import { readTables, type Tables } from "./tables.ts";

/** The parts that the build puts into data.js, which every page loads. */
declare global {
  var cellwayData: {
    /** The scripts of workers. */
    worker: string;
    player: string;
    /** The compiled simulator, compressed with gzip, in base64. */
    wasm: string;
    /** The shipped scenarios, by name. */
    scenarios: Record<string, string>;
  };
}

/** The time that a run has before the next position of a slider ends it (ms). */
const PATIENCE = 250;

/** Follows a run. */
export interface Watcher {
  refused(answer: Refused): void;
  failed(why: string): void;
  /** @param seconds The time that it takes still. It waits for `Simulator.goOn`. */
  long(seconds: number): void;
  /** @param soFar The series until now, if they were asked for. */
  progress(done: number, soFar: Tables | undefined): void;
  ended(tables: Tables, seconds: number): void;
}

/** Decompresses a text in base64, up to `most` octets. */
export async function inflate(
  base64: string,
  format: CompressionFormat,
  most = Infinity,
): Promise<Uint8Array<ArrayBuffer>> {
  let characters: string;
  try {
    characters = atob(base64);
  } catch {
    throw new Error("it is not in base64");
  }
  const octets = Uint8Array.from(characters, (c) => c.charCodeAt(0));
  const reader = new Blob([octets]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let length = 0; ;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error("it is no compressed text");
    });
    if (done) {
      return new Uint8Array(await new Blob(parts).arrayBuffer());
    }
    length += value.length;
    if (length > most) {
      reader.cancel().catch(() => {});
      throw new Error(`it is longer than ${most} octets`);
    }
    parts.push(value as Uint8Array<ArrayBuffer>);
  }
}

let compiled: Promise<WebAssembly.Module> | undefined;

/** Returns the compiled simulator, once for all workers of a page. */
export function compile(): Promise<WebAssembly.Module> {
  compiled ??= inflate(cellwayData.wasm, "gzip").then((octets) => WebAssembly.compile(octets));
  return compiled;
}

/** Starts a worker from its script: from a disk, browsers load no worker from a file. */
export function startWorker(script: string): Worker {
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}

type Unnumbered<T> = T extends { number: number } ? Omit<T, "number"> : never;

export class Simulator {
  readonly #wasm: WebAssembly.Module;
  #worker!: Worker;
  #number = 0;
  /** The action for the answer with a number. */
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  /** The run in progress. */
  #run: { number: number; watcher: Watcher; since: number } | undefined;
  /** The run to begin after the one in progress. */
  #next: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Compiles the simulator. */
  static async start(): Promise<Simulator> {
    return new Simulator(await compile());
  }

  private constructor(wasm: WebAssembly.Module) {
    this.#wasm = wasm;
    this.#restart();
  }

  /** Called with true while anything is in progress. */
  busy: (isBusy: boolean) => void = () => {};

  async check(request: Request): Promise<Checked> {
    const answer = await this.#ask({ check: request });
    return "checked" in answer ? answer.checked : { valid: false, problems: [{ message: failure(answer) }], more: 0 };
  }

  async keys(request: Request): Promise<Key[]> {
    const answer = await this.#ask({ keys: request });
    return "keys" in answer && Array.isArray(answer.keys) ? answer.keys : [];
  }

  /** Returns the text with settings written into it; fails with the first problem in words. */
  async write(request: Request): Promise<string> {
    const answer = await this.#ask({ write: request });
    if (!("written" in answer)) {
      throw new Error(failure(answer));
    }
    if ("text" in answer.written) {
      return answer.written.text;
    }
    throw new Error(answer.written.problems[0]?.message);
  }

  /** Runs a request, in place of the run in progress, of which nothing more is reported. */
  run(request: Request, watcher: Watcher, live = false): void {
    this.#next = undefined;
    clearTimeout(this.#timer);
    this.#run = { number: this.#send({ run: request, live }), watcher, since: performance.now() };
    this.#report();
  }

  /**
   * Runs a request soon, for a slider that moves: after the run in progress if that is short, and the last of many only.
   * If a new request ended each run before its end, nothing would be drawn until the slider stops.
   */
  follow(request: Request, watcher: Watcher): void {
    const isWaiting = this.#next !== undefined;
    const begin = () => this.run(request, watcher, true);
    const left = this.#run ? this.#run.since + PATIENCE - performance.now() : 0;
    if (left <= 0) {
      begin();
      return;
    }
    this.#next = begin;
    if (!isWaiting) {
      this.#timer = setTimeout(() => this.#next?.(), left);
    }
  }

  /** Continues a run that has said that it takes long. */
  goOn(): void {
    this.#worker.postMessage({ goOn: true } satisfies Ask);
  }

  /** Ends everything that is in progress, also a check that does not return. */
  stop(): void {
    this.#worker.terminate();
    this.#fail("it was stopped");
    this.#restart();
  }

  /** Ends the worker; nothing can be asked after that. */
  close(): void {
    this.#worker.terminate();
  }

  #restart() {
    this.#worker = startWorker(cellwayData.worker);
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#receive(data);
    this.#worker.onerror = (event) => {
      this.#worker.terminate();
      this.#fail(`the worker has failed: ${event.message}`);
      this.#restart();
    };
    this.#worker.postMessage({ wasm: this.#wasm } satisfies Ask);
  }

  #fail(why: string) {
    const waiting = [...this.#waiting];
    const run = this.#run;
    this.#waiting.clear();
    this.#run = undefined;
    this.#next = undefined;
    clearTimeout(this.#timer);
    this.#report();
    waiting.forEach(([number, action]) => action({ number, failed: why }));
    run?.watcher.failed(why);
  }

  #send(ask: Unnumbered<Ask>): number {
    this.#number += 1;
    this.#worker.postMessage({ ...ask, number: this.#number });
    return this.#number;
  }

  #ask(ask: Unnumbered<Ask>): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting.set(this.#send(ask), resolve);
      this.#report();
    });
  }

  #receive(answer: Answer) {
    const action = this.#waiting.get(answer.number);
    if (action) {
      this.#waiting.delete(answer.number);
      this.#report();
      action(answer);
      return;
    }
    if (answer.number !== this.#run?.number) {
      return;
    }
    const { watcher } = this.#run;
    if ("done" in answer) {
      watcher.progress(answer.done, answer.soFar && readTables(answer.soFar));
    } else if ("long" in answer) {
      watcher.long(answer.long);
    } else {
      this.#run = undefined;
      if ("tables" in answer) {
        watcher.ended(readTables(answer.tables), answer.seconds);
      } else if ("refused" in answer) {
        watcher.refused(answer.refused);
      } else {
        watcher.failed(failure(answer));
      }
      this.#next?.();
      this.#report();
    }
  }

  #report() {
    this.busy(this.#run !== undefined || this.#next !== undefined || this.#waiting.size > 0);
  }
}

const failure = (answer: Answer) => ("failed" in answer ? answer.failed : "the worker gave another answer");
