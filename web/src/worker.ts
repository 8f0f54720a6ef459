// Runs the simulator beside the page, so that the page never waits for it. One instance serves all requests: a new one
// would have to be optimised by the browser again. A request that is newer than a run ends that run.

import { CellwayEngine } from "./engine.ts";
import type { Answer, Ask, Request } from "./protocol.ts";

/** The time of a slice (ms). */
const SLICE = 16;
/** The time of a run (s) above which the page is asked first. */
const LONG = 20;
/** The time between two series of a run that is drawn while it runs (ms), and that before the first. */
const DRAWN_EVERY = 60;

let wasm: WebAssembly.Module | undefined;
let engine: Promise<CellwayEngine> | undefined;
/** The request to serve next; older ones are dropped. */
let newest: Extract<Ask, { run: Request }> | undefined;
let goOn: (() => void) | undefined;
let busy = false;

const answer = (message: Answer, transfer: Transferable[] = []) => postMessage(message, { transfer });
const words = (error: unknown) => String(error instanceof Error ? error.message : error);

onmessage = async ({ data }: MessageEvent<Ask>) => {
  if ("wasm" in data) {
    wasm = data.wasm;
    load();
    return;
  }
  if ("goOn" in data) {
    goOn?.();
    return;
  }
  const { number } = data;
  try {
    const loaded = await engine!;
    if ("check" in data) {
      answer({ number, checked: loaded.check(data.check) });
    } else if ("keys" in data) {
      answer({ number, keys: loaded.keys(data.keys) });
    } else if ("write" in data) {
      answer({ number, written: loaded.write(data.write) });
    } else {
      newest = data;
      goOn?.();
      await serve(loaded);
    }
  } catch (error) {
    answer({ number, failed: words(error) });
    load();
  }
};

/** Loads the engine, also anew: one that has panicked answers nothing more. */
function load() {
  engine = CellwayEngine.load(wasm!);
  engine.catch(() => {});
}

async function serve(loaded: CellwayEngine) {
  if (busy) {
    return;
  }
  busy = true;
  while (newest) {
    const asked = newest;
    newest = undefined;
    try {
      await run(loaded, asked.run, asked.number, asked.live);
    } catch (error) {
      answer({ number: asked.number, failed: words(error) });
      load();
      loaded = await engine!;
    }
  }
  busy = false;
}

/** Lets messages come in between two slices; a timer would wait for at least 4 ms. */
const pause = (() => {
  const { port1, port2 } = new MessageChannel();
  let resume = () => {};
  port1.onmessage = () => resume();
  return () =>
    new Promise<void>((resolve) => {
      resume = resolve;
      port2.postMessage(null);
    });
})();

async function run(engine: CellwayEngine, request: Request, number: number, live: boolean) {
  const begun = engine.begin(request);
  if ("valid" in begun) {
    answer({ number, refused: begun });
    return;
  }
  let instants = 256;
  let asked = false;
  let waited = 0;
  const start = performance.now();
  let drawn = start + DRAWN_EVERY;
  while (!newest) {
    const before = performance.now();
    const { done, failed } = engine.advance(instants)!;
    if (failed !== undefined) {
      answer({ number, failed });
      return;
    }
    const now = performance.now();
    const seconds = (now - start - waited) / 1000;
    if (done === 1) {
      const tables = engine.tables()!;
      answer({ number, tables, seconds }, [tables]);
      return;
    }
    if (live && now > drawn) {
      const soFar = engine.soFar()!;
      // Copies of a long run take long: at most a tenth of the time goes into them.
      const spent = performance.now() - now;
      drawn = performance.now() + Math.max(DRAWN_EVERY, 10 * spent);
      answer({ number, done, seconds, soFar }, [soFar]);
    } else {
      answer({ number, done, seconds });
    }
    const left = (seconds / done) * (1 - done);
    if (!asked && done > 0 && seconds > 1 && left > LONG) {
      asked = true;
      answer({ number, long: left });
      await new Promise<void>((resolve) => (goOn = resolve));
      goOn = undefined;
      waited = performance.now() - now;
    }
    const ratio = SLICE / Math.max(now - before, 1);
    instants = Math.max(1, Math.round(instants * Math.min(4, ratio)));
    await pause();
  }
}
