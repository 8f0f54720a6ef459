// A page of the course: its figure with sliders, and its exercises.

import { toHash } from "./address.ts";
import { at, copy } from "./dom.ts";
import { Exercise, type ExerciseSpec } from "./exercise.ts";
import { figuresOf, type Figure, type FigureSpec } from "./figure.ts";
import type { Request } from "./protocol.ts";
import { Simulator, type Watcher } from "./simulator.ts";
import { Slider, type Setting, type SliderSpec } from "./slider.ts";
import { mountStage, type Mounted } from "./stage/stage.ts";
import type { Tables } from "./tables.ts";

/** The front matter of a page, and its scenario. */
interface PageSpec {
  name: string;
  scenario: string;
  figures: FigureSpec[];
  sliders: SliderSpec[];
  command: string;
  exercise: ExerciseSpec[];
  theory?: Theory[];
}

/** The theory of a row of the summary, by the positions of two sliders. */
export interface Theory {
  label: string;
  /** The title of the figure that has it as a line. */
  figure: string;
  subject: string;
  metric: string;
  unit: string;
  keys: [string, string];
  values: number[][];
}

class Course {
  readonly #page: PageSpec;
  readonly #simulator: Simulator;
  readonly #sliders: Slider[];
  readonly #figures: Figure[];
  readonly #exercises: Exercise[];
  readonly #stage: Mounted;

  constructor(page: PageSpec, simulator: Simulator) {
    this.#page = page;
    this.#simulator = simulator;
    this.#sliders = page.sliders.map(
      (spec) =>
        new Slider(
          spec,
          () => this.#run(),
          () => this.#toAddress(),
        ),
    );
    at("sliders").append(...this.#sliders.map((slider) => slider.element));
    this.#figures = figuresOf(at("figures"), page.figures);
    const [moved, run] = [() => this.#moved(), (set: Setting[]) => this.#runOnce(set)];
    this.#exercises = page.exercise.map(
      (spec, index) => new Exercise(at("exercises"), index, spec, this.#sliders, moved, run),
    );
    this.#stage = mountStage(at("stage"), () => this.#request());
  }

  begin() {
    this.#fromAddress();
    addEventListener("hashchange", () => {
      this.#fromAddress();
      this.#run();
    });
    at("reset").onclick = () => {
      this.#sliders.forEach((slider) => (slider.position = slider.spec.start));
      this.#moved();
    };
    at("copy").onclick = (event) => void this.#text().then((text) => copy(text, event.target as HTMLButtonElement));
    at("copy-command").onclick = (event) =>
      void copy(at("command").textContent ?? "", event.target as HTMLButtonElement);
    at("open").onclick = () => void this.#openLab();
    this.#run();
  }

  #request(): Request {
    return { text: this.#page.scenario, set: this.#sliders.map((slider) => slider.setting) };
  }

  #moved() {
    this.#toAddress();
    this.#run();
  }

  #toAddress() {
    history.replaceState(null, "", `#${new URLSearchParams(this.#settings)}`);
  }

  /** The sliders that are not at their beginning. */
  get #settings(): Setting[] {
    return this.#sliders.filter((slider) => slider.isMoved).map((slider) => slider.setting);
  }

  /** Takes the positions of the sliders from the address; values that a slider has not are left out. */
  #fromAddress() {
    const keys = new URLSearchParams(location.hash.slice(1));
    for (const slider of this.#sliders) {
      const position = slider.spec.values.indexOf(keys.get(slider.spec.key) ?? "");
      slider.position = position < 0 ? slider.spec.start : position;
    }
  }

  #run() {
    this.#exercises.forEach((exercise) => exercise.forget());
    this.#stage.changed();
    const request = this.#request();
    const theory = this.#theory();
    const draw = (tables: Tables) =>
      this.#page.figures.forEach(({ title }, index) => {
        const own = theory.filter(({ spec }) => spec.figure === title);
        this.#figures[index]!.draw(
          tables,
          own.map(({ spec, value }) => ({ label: spec.label, value })),
        );
      });
    const watcher: Watcher = {
      refused: ({ problems }) => this.#failed(`This cannot be run: ${problems[0]?.message}.`),
      failed: (why) => this.#failed(`The run has ended before its time: ${why}.`),
      long: () => this.#simulator.goOn(),
      progress: (_, soFar) => soFar && draw(soFar),
      ended: (tables, seconds) => {
        draw(tables);
        // The sliders may have moved on: then a newer run follows.
        if (this.#sliders.every((slider, index) => slider.value === request.set?.[index]?.[1])) {
          this.#exercises.forEach((exercise) => exercise.ran(request.set ?? [], tables));
        }
        const beside = theory.map((one) => besideTheory(one, tables));
        this.#state([`${tables.counts.simulated_s} s simulated in ${seconds.toFixed(2)} s.`, ...beside].join(" "));
      },
    };
    this.#simulator.follow(request, watcher);
  }

  /** Runs the scenario with settings in place of those of the sliders, for an exercise. */
  async #runOnce(set: Setting[]): Promise<Tables> {
    const simulator = await Simulator.start();
    const run = new Promise<Tables>((resolve, reject) => {
      simulator.run(
        { text: this.#page.scenario, set },
        {
          refused: ({ problems }) => reject(new Error(problems[0]?.message)),
          failed: (why) => reject(new Error(why)),
          long: () => simulator.goOn(),
          progress: () => {},
          ended: resolve,
        },
      );
    });
    return run.finally(() => simulator.close());
  }

  /** Returns the theory with its values at the present positions. */
  #theory(): { spec: Theory; value: number }[] {
    const position = (key: string) => this.#sliders.find((slider) => slider.spec.key === key)?.position ?? 0;
    return (this.#page.theory ?? []).map((spec) => {
      const [row, column] = spec.keys.map(position);
      return { spec, value: spec.values[row!]![column!]! };
    });
  }

  #text(): Promise<string> {
    return this.#simulator.write({ text: this.#page.scenario, set: this.#settings });
  }

  async #openLab() {
    location.href = `index.html${(await toHash({ text: await this.#text(), point: 0, replication: 0 })) ?? ""}`;
  }

  #failed(why: string) {
    this.#state(why);
    this.#exercises.forEach((exercise) => exercise.failed(why));
  }

  #state(state: string) {
    at("state").textContent = state;
  }
}

function besideTheory({ spec, value }: { spec: Theory; value: number }, tables: Tables): string {
  const row = tables.summary.find((row) => row.subject === spec.subject && row.metric === spec.metric);
  return `${spec.label}: ${value} ${spec.unit}${row ? `, simulated ${row.value}` : ""}.`;
}

const page = JSON.parse(at("page").textContent ?? "") as PageSpec;
Simulator.start()
  .then((simulator) => new Course(page, simulator).begin())
  .catch((error: unknown) => {
    at("state").textContent = `The figure cannot start: ${error instanceof Error ? error.message : String(error)}`;
  });
