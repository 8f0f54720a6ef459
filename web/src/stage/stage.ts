// The stage: the network of a run, and what moves in it, at a speed that can be watched.

import { button, make } from "../dom.ts";
import type { Play, Played } from "../player.ts";
import type { Request } from "../protocol.ts";
import { compile, startWorker } from "../simulator.ts";
import { readView, type Scene, type View } from "../view.ts";
import { Clock, SPEEDS, START, speedName, timeName } from "./clock.ts";
import { Drawing, along } from "./draw.ts";
import { choices, Inspector, type Chosen } from "./inspector.ts";
import { arrange, type Layout } from "./layout.ts";

/** The most queues of a network that is shown: the page would not answer for many seconds. */
const QUEUES = 10_000;
/** The time between two texts for those who do not see the picture (ms). */
const SPOKEN = 1000;

/** A stage that follows the scenario of its page. */
export interface Mounted {
  /** The scenario has changed: what is shown begins anew, at the same time. */
  changed(): void;
}

/** Makes the stage in `host`; it begins, with the run of `request`, when the reader wants to watch. */
export function mountStage(host: HTMLElement, request: () => Request): Mounted {
  let stage: Stage | undefined;
  host.classList.add("stage");
  const start = button("Watch it move", () => {
    start.remove();
    stage = new Stage(host, request);
    void stage.begin();
  });
  host.append(start);
  return { changed: () => stage?.changed() };
}

class Stage {
  readonly #request: () => Request;
  readonly #canvas = make("canvas");
  readonly #state = make("p", "The simulator is loading.", "note");
  readonly #time = make("output");
  readonly #play = button("Play", () => this.#toggle());
  readonly #step = button("Step", () => this.#stepOnce());
  readonly #again = button("Begin again", () => this.#restart());
  readonly #speed = make("input");
  readonly #speedName = make("output");
  readonly #seek = make("input");
  readonly #choice = make("select");
  readonly #panel = make("div");
  readonly #clock = new Clock();
  #worker: Worker | undefined;
  #scene: Scene | undefined;
  #layout: Layout | undefined;
  #drawing: Drawing | undefined;
  #inspector: Inspector | undefined;
  #view: View | undefined;
  #chosen: Chosen | undefined;
  #isPlaying = false;
  /** The time that the simulation goes to before anything else happens, and whether it plays from there. */
  #going: { to: number; isPlaying: boolean } | undefined;
  #isWaiting = false;
  /** The number of the run that is shown. */
  #run = 0;
  /** The instants of the last texts of the canvas and of the state (ms). */
  #spoken = 0;
  #said = 0;

  constructor(host: HTMLElement, request: () => Request) {
    this.#request = request;
    this.#canvas.setAttribute("role", "img");
    this.#canvas.onclick = (event) => this.#click(event);
    Object.assign(this.#speed, {
      type: "range",
      id: "stage-speed",
      min: "0",
      max: String(SPEEDS.length - 1),
      step: "1",
      value: String(START),
    });
    this.#speed.oninput = () => this.#setSpeed();
    Object.assign(this.#seek, { type: "range", id: "stage-time", min: "0", max: "1", step: "any", value: "0" });
    this.#seek.oninput = () => this.#goTo(Number(this.#seek.value));
    this.#choice.id = "stage-choice";
    this.#choice.onchange = () => this.#choose(this.#choice.value);
    const label = (text: string, of: HTMLElement) => {
      const label = make("label", text);
      label.htmlFor = of.id;
      return label;
    };
    const row = make("div", "", "row");
    const speed = make("span", "", "range");
    speed.append(label("Speed", this.#speed), this.#speed, this.#speedName);
    const time = make("span", "", "range");
    time.append(label("Time", this.#seek), this.#seek, this.#time);
    const choice = make("span");
    choice.append(label("Look at ", this.#choice), this.#choice);
    row.append(this.#play, this.#step, this.#again, speed, time, choice);
    host.append(row, this.#canvas, this.#state, this.#panel);
    new ResizeObserver(() => this.#arrange()).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#arrange());
    this.#setSpeed();
    this.#enable(false);
    this.#state.setAttribute("role", "status");
  }

  async begin() {
    try {
      const wasm = await compile();
      this.#worker = startWorker(cellwayData.player);
      this.#worker.onmessage = ({ data }: MessageEvent<Played>) => this.#receive(data);
      this.#worker.onerror = (event) => this.#fail(event.message);
      this.#send({ wasm });
      this.#restart();
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #send(message: Play) {
    this.#worker?.postMessage(message);
  }

  /** Shows the scenario of the page as it is now, at the time that was shown, playing if it was. */
  changed() {
    const going = this.#going ?? { to: this.#view?.now ?? 0, isPlaying: this.#isPlaying };
    this.#restart();
    this.#going = going;
  }

  #restart() {
    this.#pause();
    this.#view = undefined;
    this.#isWaiting = false;
    this.#going = undefined;
    this.#clock.pause(0);
    this.#run += 1;
    this.#send({ begin: this.#request(), run: this.#run });
  }

  #receive(data: Played) {
    if (data.run !== this.#run) {
      return;
    }
    if ("begun" in data) {
      this.#begun(data.begun);
    } else if ("view" in data) {
      this.#isWaiting = false;
      if (this.#scene && data.view.byteLength > 0) {
        this.#view = readView(this.#scene, data.view);
      }
      if (this.#going && data.at === this.#going.to) {
        this.#arrived(this.#going.isPlaying);
      }
      if (data.hasEnded) {
        this.#pause();
        this.#state.textContent = "The run has ended.";
      }
      this.#show();
    } else if ("refused" in data) {
      this.#fail(data.refused.problems[0]?.message ?? "the scenario cannot be run");
    } else {
      this.#fail(data.failed);
    }
  }

  #begun(scene: Scene) {
    if (scene.ports.length > QUEUES) {
      // Its views are not read as those of the network before, whose picture goes, too.
      this.#scene = this.#layout = this.#drawing = undefined;
      this.#canvas.width = 0;
      this.#fail(`the network has ${scene.ports.length} queues; accepted: at most ${QUEUES}`);
      return;
    }
    const parts = ({ nodes, flows, ports }: Scene) => JSON.stringify([nodes, flows, ports]);
    const isOther = !this.#scene || parts(this.#scene) !== parts(scene);
    this.#scene = scene;
    this.#seek.max = String(scene.duration);
    this.#state.textContent = "A click on a queue or a flow, or the list, shows what is in it.";
    if (isOther) {
      this.#panel.replaceChildren();
      this.#inspector = new Inspector(this.#panel, scene);
      const none = make("option", "nothing");
      none.value = "";
      const options = choices(scene).map(({ name, chosen }) => {
        const option = make("option", name);
        option.value = JSON.stringify(chosen);
        return option;
      });
      this.#choice.replaceChildren(none, ...options);
      this.#choose("");
    }
    this.#enable(true);
    this.#arrange();
    if (this.#going && this.#going.to > 0) {
      this.#send({ until: this.#going.to });
    } else if (this.#going) {
      this.#arrived(this.#going.isPlaying);
    } else {
      this.#play.focus();
    }
  }

  #arrived(isPlaying: boolean) {
    this.#going = undefined;
    if (isPlaying) {
      this.#resume();
    }
  }

  #arrange() {
    const width = this.#canvas.parentElement?.clientWidth ?? 0;
    if (!this.#scene || width < 50) {
      return;
    }
    this.#layout = arrange(this.#scene, width - 2);
    this.#drawing = new Drawing(this.#canvas, this.#scene, this.#layout);
    this.#show();
  }

  #show() {
    const chosen = this.#chosen ?? {};
    this.#drawing?.draw(this.#view, chosen);
    const now = this.#view?.now ?? 0;
    this.#time.textContent = timeName(now, this.#clock.speed);
    if (document.activeElement !== this.#seek || this.#isPlaying) {
      this.#seek.value = String(now);
    }
    this.#seek.setAttribute("aria-valuetext", timeName(now, 1));
    if (this.#view) {
      this.#inspector?.show(this.#view);
    }
    if (performance.now() - this.#spoken > SPOKEN || !this.#isPlaying) {
      this.#spoken = performance.now();
      this.#canvas.setAttribute("aria-label", this.#words());
    }
  }

  #words(): string {
    const { ports = [], now = 0 } = this.#view ?? {};
    const queues = ports.flatMap(({ waiting, more }, port) => {
      const total = waiting.reduce((sum, { units }) => sum + units, more);
      return total > 0 ? [{ total, name: this.#scene!.ports[port]!.name }] : [];
    });
    const longest = queues.sort((a, b) => b.total - a.total).slice(0, 3);
    const words = longest.map(({ total, name }) => `${total} wait at ${name}`).join(", ") || "no queue";
    return `The network at ${timeName(now, 1)}: ${words}`;
  }

  // Time

  #toggle() {
    if (this.#going) {
      this.#going.isPlaying = !this.#going.isPlaying;
      this.#play.textContent = this.#going.isPlaying ? "Pause" : "Play";
    } else if (this.#isPlaying) {
      this.#pause();
    } else {
      this.#resume();
    }
  }

  #resume() {
    this.#isPlaying = true;
    this.#play.textContent = "Pause";
    this.#state.textContent = "";
    this.#clock.pause(this.#view?.now ?? 0);
    requestAnimationFrame((at) => this.#frame(at));
  }

  #pause() {
    this.#isPlaying = false;
    this.#play.textContent = "Play";
  }

  #frame(at: number) {
    if (!this.#isPlaying) {
      return;
    }
    const goal = this.#clock.frame(at, this.#view?.now ?? 0);
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.#send({ until: goal });
    }
    if (at - this.#said > SPOKEN) {
      this.#said = at;
      const { reached, speed } = this.#clock;
      this.#state.textContent =
        reached < 0.8 ? `The simulator is slower than this speed: it reaches ${(reached * speed).toPrecision(2)}.` : "";
    }
    requestAnimationFrame((next) => this.#frame(next));
  }

  #stepOnce() {
    this.#going = undefined;
    this.#pause();
    this.#send({ step: true });
  }

  #goTo(time: number) {
    this.#pause();
    this.#going = { to: time, isPlaying: false };
    this.#state.textContent = "";
    this.#send({ until: time });
  }

  #setSpeed() {
    this.#clock.speed = SPEEDS[Number(this.#speed.value)]!;
    const name = speedName(this.#clock.speed);
    this.#speedName.textContent = name;
    this.#speed.setAttribute("aria-valuetext", `${name} of real time`);
  }

  // The queue or flow that is shown in words

  #choose(value: string) {
    this.#chosen = value ? (JSON.parse(value) as Chosen) : undefined;
    this.#choice.value = value;
    this.#inspector?.choose(this.#chosen);
    this.#show();
  }

  #click({ offsetX: x, offsetY: y }: MouseEvent) {
    let nearest = { distance: 26, chosen: undefined as Chosen | undefined };
    const consider = (point: { x: number; y: number }, penalty: number, chosen: Chosen) => {
      const distance = Math.hypot(point.x - x, point.y - y) + penalty;
      if (distance < nearest.distance) {
        nearest = { distance, chosen };
      }
    };
    for (const lane of this.#layout?.lanes ?? []) {
      if (!lane) {
        continue;
      }
      for (const distance of [0, 20, 40, 60]) {
        const point = { x: lane.from.x + lane.out.x * distance, y: lane.from.y + lane.out.y * distance };
        consider(point, 0, { port: lane.port });
      }
      for (const { flow, head, tail } of this.#view?.ports[lane.port]?.flight ?? []) {
        if (flow >= 0) {
          consider(along(lane, (head + tail) / 2), 6, { flow });
        }
      }
    }
    for (const { x, y, kind, nodes } of this.#layout?.places ?? []) {
      const pair = this.#scene!.flows.findIndex(
        (flow) => flow.kind === "gateways" && flow.ends.some((end) => nodes.includes(end)),
      );
      if (kind === "gateway" && pair >= 0) {
        consider({ x, y }, -6, { flow: pair });
      }
    }
    this.#choose(nearest.chosen ? JSON.stringify(nearest.chosen) : "");
  }

  #enable(isReady: boolean) {
    [this.#play, this.#step, this.#again].forEach((one) => (one.disabled = !isReady));
    this.#seek.disabled = !isReady;
  }

  #fail(why: string) {
    this.#pause();
    this.#enable(false);
    this.#again.disabled = false;
    this.#going = undefined;
    this.#state.textContent = `This cannot be shown: ${why}.`;
  }
}
