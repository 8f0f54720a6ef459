// The lab page: a scenario, its runs and their figures.

import { count, fromHash, LONGEST, toHash, type Shown } from "./address.ts";
import { at, copy, make } from "./dom.ts";
import { Editor, pointOptions } from "./editor.ts";
import { Figure, figuresOf } from "./figure.ts";
import type { Checked, Request } from "./protocol.ts";
import { Simulator, type Watcher } from "./simulator.ts";
import { mountStage, type Mounted } from "./stage/stage.ts";
import type { Tables } from "./tables.ts";

/** The most rows of the table. */
const ROWS = 2000;
const RUNNING = "The run goes on.";
const FIGURES = [
  { title: "Goodput", metrics: ["goodput"] },
  { title: "Queue", metrics: ["queue", "queue_mean"] },
  { title: "Send window", metrics: ["window", "window_mean"] },
];

class Lab {
  readonly #simulator: Simulator;
  readonly #editor: Editor;
  readonly #figures: Figure[] = figuresOf(at("figures"), FIGURES);
  readonly #stage: Mounted;
  readonly #shipped = at<HTMLSelectElement>("shipped");
  readonly #point = at<HTMLSelectElement>("point");
  readonly #replication = at<HTMLInputElement>("replication");
  #tables: Tables | undefined;
  /** The number of the newest address: an older one may be ready later. */
  #address = 0;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
    simulator.busy = (isBusy) => (at<HTMLButtonElement>("stop").disabled = !isBusy);
    this.#editor = new Editor(simulator, {
      edited: () => this.#ownScenario(),
      checked: (checked) => this.#checked(checked),
      changed: () => this.#follow(),
      failed: (why) => this.#state(why),
    });
    this.#stage = mountStage(at("stage"), () => this.#request());
  }

  async begin() {
    this.#shipped.append(...Object.keys(cellwayData.scenarios).map((name) => make("option", name)));
    this.#shipped.onchange = () => {
      this.#load({ text: cellwayData.scenarios[this.#shipped.value]!, point: 0, replication: 0 });
      void this.#checkAndRun();
    };
    for (const input of [this.#point, this.#replication]) {
      input.addEventListener("input", () => {
        void this.#toAddress();
        this.#run();
      });
    }
    at("run").onclick = () => this.#run();
    at("stop").onclick = () => this.#stop();
    at("no").onclick = () => this.#stop();
    at("go-on").onclick = () => {
      at("question").hidden = true;
      this.#state(RUNNING);
      this.#simulator.goOn();
    };
    at("numbers").addEventListener("toggle", () => this.#summary());
    at("copy").onclick = (event) => void copy(this.#editor.text, event.currentTarget as HTMLButtonElement);
    at("copy-link").onclick = (event) => void copy(location.href, event.currentTarget as HTMLButtonElement);
    // A link that is opened in the page itself; the page's own changes of the address are no such event.
    addEventListener("hashchange", async () => {
      if (await this.#fromAddress()) {
        await this.#checkAndRun();
      }
    });
    if (!(await this.#fromAddress())) {
      const why = at("address").textContent;
      this.#shipped.value = "bufferbloat";
      this.#load({ text: cellwayData.scenarios.bufferbloat!, point: 0, replication: 0 });
      at("address").textContent = why;
    }
    await this.#checkAndRun();
  }

  async #checkAndRun() {
    await this.#editor.check();
    this.#run();
  }

  #load({ text, point, replication }: Shown) {
    at("address").textContent = "";
    this.#editor.load(text);
    this.#point.replaceChildren(make("option", String(point)));
    this.#replication.value = String(replication);
  }

  /** Says in the list that the text is none of the shipped ones. */
  #ownScenario() {
    if (!this.#shipped.querySelector("option[value='']")) {
      const own = make("option", "of your own");
      own.value = "";
      own.hidden = true;
      this.#shipped.append(own);
    }
    this.#shipped.value = "";
    at("address").textContent = "";
  }

  #request(): Request {
    return {
      text: this.#editor.text,
      point: count(this.#point.value),
      replication: count(this.#replication.value),
      set: this.#editor.settings,
    };
  }

  #checked(checked: Checked) {
    void this.#toAddress();
    at<HTMLButtonElement>("run").disabled = !checked.valid;
    // Figures and animation are not of a text that cannot be run.
    at("figures").classList.toggle("old", !checked.valid);
    at("stage").classList.toggle("old", !checked.valid);
    if (!checked.valid) {
      this.#state("This scenario cannot be run yet.");
      return;
    }
    const last = checked.seeds - 1;
    this.#replication.max = String(last);
    this.#replication.value = String(Math.min(count(this.#replication.value), last));
    at("point-of").hidden = checked.points === 1;
    at("replication-of").hidden = last === 0;
    const point = count(this.#point.value);
    this.#point.replaceChildren(...pointOptions(checked));
    this.#point.value = String(point < checked.points ? point : 0);
  }

  // Runs

  #run() {
    if (this.#editor.described) {
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
    at("question").hidden = true;
    at<HTMLProgressElement>("progress").value = 0;
  }

  #watcher(): Watcher {
    return {
      refused: (refused) => {
        this.#ended("This cannot be run: the problems are listed.");
        this.#editor.list(refused);
      },
      failed: (why) => this.#ended(`The run has ended before its time: ${why}.`),
      long: (seconds) => {
        this.#state("The run waits for an answer.");
        at("long").textContent = `This run takes about ${Math.ceil(seconds)} s more.`;
        at("question").hidden = false;
        // Not while the reader types: a blank would be the answer.
        if (document.activeElement === document.body || document.activeElement === at("run")) {
          at("go-on").focus();
        }
      },
      progress: (done, soFar) => {
        at<HTMLProgressElement>("progress").value = done;
        if (soFar) {
          // Once: what does not change is not read aloud again. Short runs report their end only.
          if (at("state").textContent !== RUNNING) {
            this.#state(RUNNING);
          }
          this.#figures.forEach((figure) => figure.draw(soFar));
        }
      },
      ended: (tables, seconds) => {
        this.#tables = tables;
        at<HTMLProgressElement>("progress").value = 1;
        const axes = tables.axes.map(([name, value]) => `, ${name} = ${value}`).join("");
        this.#ended(
          `${tables.name}, seed ${tables.seed}${axes}: ${tables.counts.simulated_s} s simulated in ` +
            `${seconds.toFixed(2)} s, ${tables.counts.events.toLocaleString("en")} events.`,
        );
        this.#editor.list();
        at("figures").classList.remove("old");
        this.#figures.forEach((figure) => figure.draw(tables));
        this.#summary();
      },
    };
  }

  #ended(state: string) {
    at("question").hidden = true;
    this.#state(state);
  }

  #stop() {
    this.#editor.stopped();
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
      // Counts as they are, others with the digits that a reader may compare with the command line.
      const number = Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
      row.append(make("td", subject), make("td", metric), make("td", number, "number"));
      row.append(make("td", unit === "1" ? "" : unit));
      body.append(row);
    }
    if (rows.length > ROWS) {
      const row = make("tr");
      row.append(make("td", `${rows.length - ROWS} more rows: the command line has all`));
      body.append(row);
    }
  }

  // The address

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

  async #toAddress() {
    this.#address += 1;
    const address = this.#address;
    const { text, point, replication } = this.#request();
    const hash = await toHash({ text, point: point ?? 0, replication: replication ?? 0 });
    if (address !== this.#address) {
      return;
    }
    if (!hash) {
      at("address").textContent = `The scenario is longer than ${LONGEST} octets: it is not in the address.`;
    }
    history.replaceState(null, "", hash ?? "#");
  }
}

Simulator.start()
  .then((simulator) => new Lab(simulator).begin())
  .catch((error: unknown) => {
    at("state").textContent = `The page cannot start: ${error instanceof Error ? error.message : String(error)}`;
  });
