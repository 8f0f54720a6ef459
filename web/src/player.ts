// Runs a simulation at the pace of an animation: goes to a time in slices, and answers with the state of the network.

import { CellwayEngine } from "./engine.ts";
import type { Refused, Request } from "./protocol.ts";
import type { Scene } from "./view.ts";

/** To the player. The first message has the compiled file. */
export type Play = { wasm: WebAssembly.Module } | { begin: Request; run: number } | { until: number } | { step: true };

/** From the player, with the number that the page gave the run: `begun` once, then a `view` after each slice. */
export type Played = { run: number } & (
  | { begun: Scene }
  | { refused: Refused }
  /** `at` is the time that the page has asked for, if it is reached. A view of no octets: the last one stays. */
  | { view: ArrayBuffer; hasEnded: boolean; at: number | undefined }
  | { failed: string }
);

/** The time of a slice (ms). */
const SLICE = 12;
/** A run that has ended has no state to show, so the animation ends so long before (s). */
const LAST = 1e-9;

let wasm: WebAssembly.Module | undefined;
let engine: Promise<CellwayEngine> | undefined;
let request: Request | undefined;
let run = 0;
let duration = 0;
let now = 0;
let target: number | undefined;
let busy = false;
/** The simulated time that a slice of this run has (s). */
let stride = 1e-3;

const answer = (message: Played, transfer: Transferable[] = []) => postMessage(message, { transfer });

function load() {
  engine = CellwayEngine.load(wasm!);
  engine.catch(() => {});
}

onmessage = async ({ data }: MessageEvent<Play>) => {
  try {
    if ("wasm" in data) {
      wasm = data.wasm;
      load();
      return;
    }
    const loaded = await engine!;
    if ("begin" in data) {
      request = data.begin;
      run = data.run;
      stride = 1e-3;
      target = undefined;
      const refused = begin(loaded);
      if (refused) {
        answer({ run, refused });
        return;
      }
      const begun = loaded.scene() as Scene;
      duration = begun.duration;
      answer({ run, begun });
      show(loaded, undefined);
    } else if ("step" in data) {
      target = undefined;
      const hasEnded = advanced(loaded.step());
      show(loaded, undefined, hasEnded);
    } else {
      target = data.until;
      await go(loaded);
    }
  } catch (error) {
    target = undefined;
    answer({ run, failed: String(error instanceof Error ? error.message : error) });
    // An engine that has panicked answers nothing more.
    load();
  }
};

function begin(engine: CellwayEngine): Refused | undefined {
  const begun = engine.begin(request!);
  now = 0;
  return "valid" in begun ? begun : undefined;
}

/** Returns true if the run has ended. */
function advanced(result: ReturnType<CellwayEngine["step"]>): boolean {
  if (result?.failed !== undefined) {
    throw new Error(result.failed);
  }
  return (result?.done ?? 1) >= 1;
}

function show(engine: CellwayEngine, at: number | undefined, hasEnded = now >= duration - LAST) {
  const view = engine.view() ?? new ArrayBuffer(0);
  if (view.byteLength > 0) {
    now = new DataView(view).getFloat64(0, true);
  }
  answer({ run, view, hasEnded, at }, [view]);
}

/** Goes to the target, which may change between two slices. Back is from the start again. */
async function go(engine: CellwayEngine) {
  if (busy) {
    return;
  }
  busy = true;
  try {
    while (target !== undefined) {
      const asked: number = target;
      const end = Math.min(asked, duration - LAST);
      if (end < now) {
        begin(engine);
      }
      const goal = Math.min(end, now + stride);
      const before = performance.now();
      advanced(engine.until(goal));
      const spent = performance.now() - before;
      stride = Math.max(1e-9, Math.min(1, stride * Math.min(2, SLICE / Math.max(spent, 0.01))));
      now = goal;
      const isThere = goal >= end;
      if (isThere) {
        target = undefined;
      }
      show(engine, isThere ? asked : undefined);
      await new Promise((resolve) => setTimeout(resolve));
    }
  } finally {
    busy = false;
  }
}
