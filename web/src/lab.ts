// The lab page: a scenario as text and as a form, sliders, a run and its figures.

import { count, fromHash, LONGEST, toHash } from "./address.ts";
import { at, copy, make } from "./dom.ts";
import { Figure, number3 } from "./figure.ts";
import { fillForm } from "./form.ts";
import { listProblems } from "./problems.ts";
import type { Checked, Described, Key, Request } from "./protocol.ts";
import { Simulator, type Watcher } from "./simulator.ts";
import { Slider, type Setting } from "./slider.ts";
import { mountStage, type Mounted } from "./stage/stage.ts";
import { stepsOf, unquoted } from "./steps.ts";
import type { Tables } from "./tables.ts";

/** The most rows of the table. */
const ROWS = 2000;
/** The time after the last key stroke before a text is checked (ms). */
const TYPING = 200;
/** The keys that have sliders at first, if a scenario has them; at most so many. */
const USUAL = [
  /^link\..*\.rate$/,
  /^link\..*\.delay$/,
  /^buffer\.size$/,
  /^link\..*\.buffer\.size$/,
  /\.window$/,
  /\.count$/,
];
const SLIDERS = 4;

/** Returns the name of a point of a sweep, whose first axis varies slowest. */
function pointName(axes: Described["axes"], point: number): string {
  const names: string[] = [];
  for (const { name, values } of axes.toReversed()) {
    names.unshift(`${name} = ${values[point % values.length]}`);
    point = Math.floor(point / values.length);
  }
  return names.join(", ");
}

class Lab {
  readonly #simulator: Simulator;
  readonly #text = at<HTMLTextAreaElement>("text");
  readonly #figures = [
    new Figure(at("figures"), { title: "Goodput", metrics: ["goodput"] }),
    new Figure(at("figures"), { title: "Queue", metrics: ["queue", "queue_mean"] }),
    new Figure(at("figures"), { title: "Send window", metrics: ["window", "window_mean"] }),
  ];
  readonly #stage: Mounted;
  #sliders: Slider[] = [];
  /** The scenario for which sliders were chosen. */
  #slidersOf = "";
  #checked: Checked | undefined;
  #typing: ReturnType<typeof setTimeout> | undefined;
  /** The number of the newest check: an older one's answer is dropped. */
  #check = 0;
  #tables: Tables | undefined;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
    this.#stage = mountStage(at("stage"), () => this.#request());
  }

  async begin() {
    const shipped = at<HTMLSelectElement>("shipped");
    shipped.append(...Object.keys(cellwayData.scenarios).map((name) => make("option", name)));
    const load = () => this.#load({ text: cellwayData.scenarios[shipped.value]!, point: 0, replication: 0 });
    if (!(await this.#fromAddress())) {
      shipped.value = "bufferbloat";
      load();
    }
    shipped.onchange = () => {
      load();
      void this.#look().then(() => this.#run());
    };
    at("text").addEventListener("input", () => {
      this.#ownScenario();
      this.#changed(TYPING);
    });
    ["point", "replication"].forEach((id) =>
      at(id).addEventListener("input", () => {
        void this.#toAddress();
        this.#run();
      }),
    );
    at("run").onclick = () => this.#run();
    at("stop").onclick = () => this.#stop();
    at("no").onclick = () => this.#stop();
    at("go-on").onclick = () => {
      at("question").hidden = true;
      this.#simulator.goOn();
    };
    at("numbers").addEventListener("toggle", () => this.#summary());
    at("copy").onclick = (event) => void this.#copyText(event.currentTarget as HTMLButtonElement);
    at("copy-link").onclick = (event) => void copy(location.href, event.currentTarget as HTMLButtonElement);
    // A link that is opened in the page itself; the page's own changes of the address are no such event.
    addEventListener("hashchange", async () => {
      if (await this.#fromAddress()) {
        await this.#look();
        this.#run();
      }
    });
    await this.#look();
    this.#run();
  }

  #load({ text, point, replication }: { text: string; point: number; replication: number }) {
    this.#text.value = text;
    const first = make("option", String(point));
    at("point").replaceChildren(first);
    at<HTMLInputElement>("replication").value = String(replication);
    this.#clearSliders();
  }

  async #fromAddress(): Promise<boolean> {
    try {
      const shown = await fromHash(location.hash);
      if (shown) {
        this.#load(shown);
        this.#ownScenario();
      }
      return shown !== null;
    } catch (error) {
      at("address").textContent = `The scenario of the address cannot be read: ${(error as Error).message}.`;
      return false;
    }
  }

  /** Says in the list that the text is none of the shipped ones. */
  #ownScenario() {
    const shipped = at<HTMLSelectElement>("shipped");
    if (!shipped.querySelector("option[value='']")) {
      const own = make("option", "of your own");
      own.value = "";
      own.hidden = true;
      shipped.append(own);
    }
    shipped.value = "";
  }

  #request(): Request {
    const [point, replication] = ["point", "replication"].map((id) =>
      count(at<HTMLInputElement | HTMLSelectElement>(id).value),
    );
    return {
      text: this.#text.value,
      point,
      replication,
      set: this.#sliders.filter((slider) => slider.isMoved).map((slider) => slider.setting),
    };
  }

  #changed(after: number) {
    at("address").textContent = "";
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => void this.#look(), after);
  }

  /** Checks the text, and makes form and sliders anew. */
  async #look() {
    this.#check += 1;
    const check = this.#check;
    void this.#toAddress();
    const text = this.#text.value;
    const [checked, keys] = await Promise.all([
      this.#simulator.check({ text, point: 0, replication: 0 }),
      this.#simulator.keys({ text }),
    ]);
    if (check !== this.#check) {
      return;
    }
    this.#show(checked);
    this.#makeSliders(checked.valid ? checked.name : this.#slidersOf, keys);
    const pins = new Set(this.#sliders.map((slider) => slider.spec.key));
    fillForm(at("form"), keys, pins, {
      changed: (path, value) => void this.#write([[path, value]]),
      located: (line) => this.#select(line, 1),
      pinned: (key, wanted) => this.#pin(key, wanted),
    });
  }

  #show(checked: Checked) {
    this.#checked = checked;
    listProblems(at("problems"), checked, (line, column) => this.#select(line, column));
    at<HTMLButtonElement>("run").disabled = !checked.valid;
    if (!checked.valid) {
      this.#state("This scenario cannot be run yet.");
      return;
    }
    this.#describe(checked);
  }

  #describe({ name, duration_s, points, seeds, axes }: Described) {
    if (!this.#simulator.isRunning) {
      this.#state(`${name}: ${duration_s} s of simulated time${points > 1 ? `, ${points} points` : ""}.`);
    }
    const replication = at<HTMLInputElement>("replication");
    replication.max = String(seeds - 1);
    replication.value = String(Math.min(count(replication.value), seeds - 1));
    at("point-of").hidden = points === 1;
    at("replication-of").hidden = seeds === 1;
    const select = at<HTMLSelectElement>("point");
    const before = select.value;
    select.replaceChildren(
      ...Array.from({ length: points }, (_, point) => {
        const option = make("option", pointName(axes, point));
        option.value = String(point);
        return option;
      }),
    );
    select.value = Number(before) < points ? before : "0";
  }

  #select(line: number, column: number) {
    const lines = this.#text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    this.#text.focus();
    this.#text.setSelectionRange(start + column - 1, start + (lines[line - 1] ?? "").length);
    const height = this.#text.scrollHeight / lines.length;
    this.#text.scrollTop = Math.max(0, (line - 5) * height);
  }

  // Sliders

  #clearSliders() {
    this.#sliders = [];
    this.#slidersOf = "";
    this.#placeSliders();
  }

  #placeSliders() {
    const focused = document.activeElement?.id;
    at("sliders").replaceChildren(...this.#sliders.map((slider) => slider.element));
    if (focused) {
      document.getElementById(focused)?.focus();
    }
  }

  /** Takes the values of the text. A slider stays as it is if it has a position for its value. */
  #makeSliders(name: string, keys: Key[]) {
    const swept = new Set(this.#checked?.valid ? this.#checked.axes.map((axis) => axis.name) : []);
    const may = keys.filter((key) => !swept.has(key.path));
    const isSame = this.#slidersOf === name;
    const usual = () =>
      USUAL.flatMap((pattern) => may.filter((key) => pattern.test(key.path) && stepsOf(key.value, key.kind)));
    const before = new Map(this.#sliders.map((slider) => [slider.spec.key, slider]));
    const kept = () => this.#sliders.flatMap((slider) => may.filter((key) => key.path === slider.spec.key));
    const wanted = isSame ? kept() : [...new Set(usual())].slice(0, SLIDERS);
    this.#slidersOf = name;
    this.#sliders = wanted.flatMap((key) => {
      const slider = before.get(key.path);
      return slider?.holds(unquoted(key.value)) ? [slider] : this.#sliderFor(key);
    });
    this.#placeSliders();
  }

  #sliderFor(key: Key): Slider[] {
    const steps = stepsOf(key.value, key.kind);
    const spec = { key: key.path, label: key.path, ...steps! };
    return steps
      ? [
          new Slider(
            spec,
            () => this.#follow(),
            () => void this.#write([]),
          ),
        ]
      : [];
  }

  #pin(key: Key, wanted: boolean) {
    const others = this.#sliders.filter((slider) => slider.spec.key !== key.path);
    this.#sliders = wanted ? [...others, ...this.#sliderFor(key)] : others;
    this.#placeSliders();
    void this.#look();
  }

  /** Writes the positions of the sliders and other settings into the text. */
  async #write(settings: Setting[]) {
    const text = this.#text.value;
    const own = new Set(settings.map(([key]) => key));
    const moved = this.#sliders.filter((slider) => slider.isMoved && !own.has(slider.spec.key));
    try {
      const written = await this.#simulator.write({
        text,
        set: [...moved.map((slider) => slider.setting), ...settings],
      });
      if (this.#text.value === text) {
        this.#text.value = written;
      }
    } catch (error) {
      this.#state(`This cannot be written: ${(error as Error).message}`);
    }
    await this.#look();
    if (settings.length > 0 && this.#checked?.valid) {
      this.#follow();
    }
  }

  // Runs

  #run() {
    if (this.#checked?.valid) {
      this.#begun();
      this.#simulator.run(this.#request(), this.#watcher(), true);
    }
  }

  #follow() {
    this.#begun();
    this.#simulator.follow(this.#request(), this.#watcher());
  }

  #begun() {
    this.#stage.changed();
    at<HTMLButtonElement>("stop").disabled = false;
    at("question").hidden = true;
    at<HTMLProgressElement>("progress").value = 0;
  }

  #watcher(): Watcher {
    return {
      refused: (refused) => {
        this.#ended("");
        listProblems(at("problems"), refused, (line, column) => this.#select(line, column));
        this.#state("This cannot be run: the problems are listed.");
      },
      failed: (why) => this.#ended(`The run has ended before its time: ${why}.`),
      long: (seconds) => {
        at("long").textContent = `This run takes about ${Math.ceil(seconds)} s more.`;
        at("question").hidden = false;
        at("go-on").focus();
      },
      progress: (done, soFar) => {
        at<HTMLProgressElement>("progress").value = done;
        if (soFar) {
          this.#figures.forEach((figure) => figure.draw(soFar));
        }
      },
      ended: (tables, seconds) => {
        this.#tables = tables;
        at<HTMLProgressElement>("progress").value = 1;
        const axes = tables.axes.map(([name, value]) => `, ${name} = ${value}`).join("");
        this.#ended(
          `${tables.name}, seed ${tables.seed}${axes}: ${tables.counts.simulated_s} s simulated in ${seconds.toFixed(2)} s, ` +
            `${tables.counts.events.toLocaleString("en")} events.`,
        );
        if (this.#checked?.valid) {
          listProblems(at("problems"), this.#checked, (line, column) => this.#select(line, column));
        }
        this.#figures.forEach((figure) => figure.draw(tables));
        this.#summary();
      },
    };
  }

  #ended(state: string) {
    at<HTMLButtonElement>("stop").disabled = true;
    at("question").hidden = true;
    this.#state(state);
  }

  #stop() {
    this.#simulator.stop();
    this.#ended("Stopped.");
  }

  #state(state: string) {
    at("state").textContent = state;
  }

  /** Fills the table of all numbers if it is unfolded. */
  #summary() {
    const body = at("summary");
    body.replaceChildren();
    if (!this.#tables || !at<HTMLDetailsElement>("numbers").open) {
      return;
    }
    const rows = this.#tables.summary;
    for (const { subject, metric, unit, value } of rows.slice(0, ROWS)) {
      const row = make("tr");
      row.append(
        make("td", subject),
        make("td", metric),
        make("td", number3(value), "number"),
        make("td", unit === "1" ? "" : unit),
      );
      body.append(row);
    }
    if (rows.length > ROWS) {
      const row = make("tr");
      row.append(make("td", `${rows.length - ROWS} more rows: the command line has all`));
      body.append(row);
    }
  }

  // The address

  async #toAddress() {
    const { text, point, replication } = this.#request();
    const hash = await toHash({ text, point: point ?? 0, replication: replication ?? 0 });
    if (!hash) {
      at("address").textContent = `The scenario is longer than ${LONGEST} octets: it is not in the address.`;
    }
    history.replaceState(null, "", hash ?? "#");
  }

  async #copyText(from: HTMLButtonElement) {
    await copy(this.#text.value, from);
  }
}

const MESSAGE = "The page cannot start";
Simulator.start()
  .then((simulator) => new Lab(simulator).begin())
  .catch((error: unknown) => {
    at("state").textContent = `${MESSAGE}: ${error instanceof Error ? error.message : String(error)}`;
  });
