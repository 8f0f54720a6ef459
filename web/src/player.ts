// Runs a simulation at the pace of an animation: goes to a time in slices, and answers with the state of the network.

import { CellwayEngine } from "./engine.ts";
import type { Refused, Request } from "./protocol.ts";
import type { Scene } from "./view.ts";

/** To the player. The first message has the compiled file. */
export type Play = { wasm: WebAssembly.Module } | { begin: Request; run: number } | { until: number } | { step: true };

/** From the player: `begun` once for each `begin`; a `view` after each slice. */
export type Played =
  | { begun: Scene; run: number }
  | { refused: Refused }
  | { view: ArrayBuffer; done: number; run: number }
  | { failed: string };

/** The time of a slice (ms). */
const SLICE = 12;

let wasm: WebAssembly.Module | undefined;
let engine: CellwayEngine | undefined;
let request: Request | undefined;
let now = 0;
let done = 0;
/** The number that the page gave the run. */
let run = 0;
let target: number | undefined;
let busy = false;
/** The simulated time that a slice of this run has (s). */
let stride = 1e-3;

const answer = (message: Played, transfer: Transferable[] = []) => postMessage(message, { transfer });

onmessage = async ({ data }: MessageEvent<Play>) => {
  try {
    if ("wasm" in data) {
      wasm = data.wasm;
      engine = await CellwayEngine.load(wasm);
    } else if ("begin" in data) {
      request = data.begin;
      run = data.run;
      stride = 1e-3;
      target = undefined;
      const refused = begin();
      answer(refused ? { refused } : { begun: engine!.scene() as Scene, run });
      if (!refused) {
        show();
      }
    } else if ("step" in data) {
      target = undefined;
      advanced(engine!.step());
      show();
    } else {
      target = data.until;
      await go();
    }
  } catch (error) {
    answer({ failed: String(error instanceof Error ? error.message : error) });
    // One that has panicked answers nothing more.
    target = undefined;
    engine = await CellwayEngine.load(wasm!);
  }
};

function begin(): Refused | undefined {
  const begun = engine!.begin(request!);
  [now, done] = [0, 0];
  return "valid" in begun ? begun : undefined;
}

function advanced(result: ReturnType<CellwayEngine["step"]>) {
  if (result?.failed !== undefined) {
    throw new Error(result.failed);
  }
  done = result?.done ?? 1;
}

/** Sends the state. A run that has ended has none: the last one stays. */
function show() {
  const view = done < 1 ? engine!.view() : null;
  if (view) {
    now = new DataView(view).getFloat64(0, true);
  }
  const sent = view ?? new ArrayBuffer(0);
  answer({ view: sent, done, run }, [sent]);
}

/** Goes to the target, which may change between two slices. Back is from the start again. */
async function go() {
  if (busy) {
    return;
  }
  busy = true;
  try {
    while (target !== undefined && engine && request) {
      if (target < now) {
        begin();
      }
      const goal: number = Math.min(target, now + stride);
      const before = performance.now();
      advanced(engine.until(goal));
      const spent = performance.now() - before;
      stride = Math.max(1e-9, Math.min(10, stride * Math.min(2, SLICE / Math.max(spent, 0.01))));
      now = goal;
      if (goal >= target || done >= 1) {
        target = undefined;
      }
      show();
      await new Promise((resolve) => setTimeout(resolve));
    }
  } finally {
    busy = false;
  }
}
