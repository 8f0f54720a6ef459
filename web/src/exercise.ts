// Exercises that check themselves, by claims with a range as those of the studies.

import { button, make } from "./dom.ts";
import { number3 } from "./figure.ts";
import type { Setting, Slider } from "./slider.ts";
import type { Tables } from "./tables.ts";

interface Claim {
  ask: string;
  /** The row of the summary. */
  subject: string;
  metric: string;
  unit: string;
  /** The range of its value, in the unit of the row. */
  least?: number;
  most?: number;
  /** The answer in words. */
  why: string;
}

export type ExerciseSpec = Claim &
  (
    | {
        /** The reader sets sliders until the value is in the range. */
        kind: "set";
        /** Keys that must have one of these values. */
        limits?: Record<string, string[]>;
        solution: Record<string, string>;
      }
    | {
        /** The reader predicts the value of a run with these keys. */
        kind: "number";
        setting: Record<string, string>;
        answer_unit: string;
        answer_factor: number;
        /** The accepted relative deviation from the simulated value. */
        within: number;
      }
  );

export class Exercise {
  readonly #verdict = make("p", "", "verdict");
  readonly #why = make("details");
  readonly #answer = make("input");
  readonly #sliders: Slider[];
  readonly #moved: () => void;
  /** The check that waits for a run. */
  #waiting: (() => void) | undefined;
  /** The last run of the page's figure; none while another one is in progress. */
  #last: { set: Setting[]; tables: Tables } | undefined;

  /** `moved` is called after sliders were set, `run` makes a run with other settings. */
  constructor(
    host: HTMLElement,
    index: number,
    spec: ExerciseSpec,
    sliders: Slider[],
    moved: () => void,
    run: (set: Setting[]) => Promise<Tables>,
  ) {
    this.#moved = moved;
    this.#sliders = sliders;
    const set = make("fieldset", "", "exercise");
    set.append(make("legend", `Exercise ${index + 1}`), make("p", spec.ask));
    this.#verdict.setAttribute("role", "status");
    this.#why.append(make("summary", "The answer"), make("p", spec.why));
    const row = make("p", "", "row");
    if (spec.kind === "number") {
      const label = make("label", "Your prediction ");
      Object.assign(this.#answer, { type: "number", step: "any", inputMode: "decimal", id: `answer-${index}` });
      label.append(this.#answer, ` ${spec.answer_unit}`);
      const check = button("Run and compare", () => void this.#compare(spec, run, check));
      // A handler that returns false would keep every other key from the field.
      this.#answer.onkeydown = (event) => {
        if (event.key === "Enter") {
          check.click();
        }
      };
      row.append(label, check);
    } else {
      row.append(button("Check what the figure shows", () => this.#check(spec)));
      this.#why.append(button("Set the sliders so", () => this.#solve(spec)));
    }
    set.append(row, this.#verdict, this.#why);
    host.append(set);
  }

  /** The sliders have moved, so the last run is no longer that of the page. */
  forget(): void {
    this.#last = undefined;
    if (this.#verdict.textContent !== "") {
      this.#verdict.textContent = "";
    }
  }

  /** The run has no tables: a check that waits for it says why. */
  failed(why: string): void {
    if (this.#waiting) {
      this.#waiting = undefined;
      this.#say(false, why);
    }
  }

  ran(set: Setting[], tables: Tables): void {
    this.#last = { set, tables };
    this.#waiting?.();
    this.#waiting = undefined;
  }

  #check(spec: ExerciseSpec & { kind: "set" }) {
    if (!this.#last) {
      this.#verdict.className = "verdict";
      this.#verdict.textContent = "The run goes on.";
      this.#waiting = () => this.#check(spec);
      return;
    }
    const values = new Map(this.#last.set);
    for (const [key, accepted] of Object.entries(spec.limits ?? {})) {
      if (!accepted.includes(values.get(key) ?? "")) {
        const label = this.#sliders.find((slider) => slider.spec.key === key)?.spec.label ?? key;
        this.#say(false, `This does not count with ${label} at ${values.get(key)}.`);
        return;
      }
    }
    const value = valueOf(spec, this.#last.tables);
    const isRight = value !== undefined && isWithin(spec, value);
    this.#say(
      isRight,
      value === undefined ? "This run has no such value." : `${measured(spec, value)}, asked for: ${range(spec)}.`,
    );
  }

  async #compare(
    spec: ExerciseSpec & { kind: "number" },
    run: (set: Setting[]) => Promise<Tables>,
    check: HTMLButtonElement,
  ) {
    const predicted = this.#answer.valueAsNumber * spec.answer_factor;
    if (!Number.isFinite(predicted)) {
      this.#say(false, `A number is missing: your prediction in ${spec.answer_unit}.`);
      return;
    }
    check.disabled = true;
    try {
      const value = valueOf(spec, await run(Object.entries(spec.setting)));
      if (value === undefined) {
        throw new Error("the run has no such value");
      }
      const isNear = Math.abs(predicted - value) <= spec.within * Math.abs(value);
      const words = `${number3(value / spec.answer_factor)} ${spec.answer_unit} simulated, ${number3(predicted / spec.answer_factor)} predicted`;
      this.#say(isNear, `${words}; ${number3(spec.within * 100)} % are accepted.`);
    } catch (error) {
      this.#say(false, `The run has failed: ${(error as Error).message}.`);
    }
    check.disabled = false;
  }

  #solve(spec: ExerciseSpec & { kind: "set" }) {
    for (const slider of this.#sliders) {
      const position = slider.spec.values.indexOf(spec.solution[slider.spec.key] ?? "");
      slider.position = position < 0 ? slider.spec.start : position;
    }
    this.#moved();
  }

  #say(isRight: boolean, words: string) {
    this.#verdict.className = `verdict ${isRight ? "right" : "wrong"}`;
    this.#verdict.textContent = `${isRight ? "Right. " : "Not yet. "}${words}`;
    if (isRight) {
      this.#why.open = true;
    }
  }
}

const valueOf = ({ subject, metric }: Claim, tables: Tables) =>
  tables.summary.find((row) => row.subject === subject && row.metric === metric)?.value;

const isWithin = ({ least = -Infinity, most = Infinity }: Claim, value: number) => least <= value && value <= most;

const measured = ({ metric, unit }: Claim, value: number) =>
  `${metric} is ${number3(value)} ${unit === "1" ? "" : unit}`.trim();

function range({ least, most, unit }: Claim): string {
  const words = unit === "1" ? "" : ` ${unit}`;
  if (least === undefined) {
    return `at most ${number3(most ?? 0)}${words}`;
  }
  return most === undefined ? `at least ${number3(least)}${words}` : `${number3(least)} to ${number3(most)}${words}`;
}
