// Simulated time against the time of the reader.

/** The speeds that can be chosen: simulated seconds for one of the reader's. */
export const SPEEDS = [1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1, 3, 10];
/** The speed at the beginning, by its place. */
export const START = 4;
/** A frame never counts for more: a page in the background has none (s). */
const FRAME = 0.1;

export class Clock {
  speed = SPEEDS[START]!;
  /** The simulated time that should be shown (s). */
  goal = 0;
  /** The part of the wanted speed that is reached. */
  reached = 1;
  #last: number | undefined;

  /** A frame at `at` (ms) while `now` is shown (s): returns the time to go to. */
  frame(at: number, now: number): number {
    const passed = this.#last === undefined ? 0 : Math.min(FRAME, (at - this.#last) / 1000);
    this.#last = at;
    const wanted = passed * this.speed;
    // The simulator may be slower: then the goal waits for it.
    const most = now + FRAME * this.speed;
    const goal = Math.min(this.goal + wanted, Math.max(most, this.goal));
    if (wanted > 0) {
      this.reached += 0.05 * ((goal - this.goal) / wanted - this.reached);
    }
    this.goal = goal;
    return goal;
  }

  pause(now: number): void {
    this.#last = undefined;
    this.goal = now;
    this.reached = 1;
  }
}

export const speedName = (speed: number) => (speed < 1 ? `1/${Math.round(1 / speed)}` : String(speed));

/** Returns a time with the digits that change between two frames. */
export function timeName(seconds: number, speed: number): string {
  const [factor, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(speed / 60)) - Math.log10(factor)));
  return `${(seconds * factor).toFixed(digits)} ${unit}`;
}
