// The lab page: a text, its check, a run and its figures. All texts of scenarios are shown as text, never as HTML.
"use strict";

const at = (id) => document.getElementById(id);
const make = (name, text = "", className = "") => {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = className;
  return element;
};
const FIGURES = [
  { id: "goodput", metrics: ["goodput"], title: "Goodput" },
  { id: "queue", metrics: ["queue", "queue_mean"], title: "Queue" },
];
// The longest scenario that a link may carry (octets).
const LONGEST = 200_000;
// The most lines of a figure, and the most rows of the table.
const LINES = 8;
const ROWS = 2000;

let wasm;
let worker;
let number = 0;
let running = false;
let checking = false;
// The text of the run, or of the last one.
let text = "";
let tables = null;
// The action for the answer with a number.
const waiting = new Map();

// Decompresses a text in base64, up to `most` octets.
async function inflate(base64, format, most = Infinity) {
  const octets = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const reader = new Blob([octets]).stream().pipeThrough(new DecompressionStream(format)).getReader();
  const parts = [];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error("it is no compressed text");
    });
    if (done) {
      return new Uint8Array(await new Blob(parts).arrayBuffer());
    }
    length += value.length;
    if (length > most) {
      reader.cancel();
      throw new Error(`it is longer than ${most} octets`);
    }
    parts.push(value);
  }
}

function startWorker() {
  worker?.terminate();
  waiting.clear();
  checking = false;
  const source = new Blob([at("engine").textContent, "\n", at("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  worker = new Worker(address);
  URL.revokeObjectURL(address);
  worker.onmessage = ({ data }) => {
    const answer = waiting.get(data.number);
    if (data.checked || data.refused || data.tables || data.failed) {
      waiting.delete(data.number);
    }
    answer?.(data);
  };
  worker.onerror = (event) => stopped(`The worker has failed: ${event.message}`);
  worker.postMessage({ wasm });
}

function ask(message, answer) {
  number += 1;
  waiting.set(number, answer);
  worker.postMessage({ ...message, number });
}

// A whole number from 0, whatever is typed.
const count = (typed) => Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(Number(typed) || 0)));

function request() {
  return { text: at("text").value, point: count(at("point").value), replication: count(at("replication").value) };
}

// The check

function check() {
  const asked = { ...request(), point: 0, replication: 0 };
  if (running) {
    return;
  }
  if (checking) {
    // The check of an older text takes long.
    startWorker();
  }
  checking = true;
  at("stop").disabled = false;
  ask({ check: asked }, ({ checked, failed }) => {
    checking = false;
    at("stop").disabled = true;
    if (asked.text !== at("text").value) {
      return;
    }
    show(checked ?? { valid: false, problems: [{ message: failed }], more: 0 });
  });
}

function show(checked) {
  const list = at("problems");
  list.replaceChildren();
  const problems = checked.valid ? checked.warnings : checked.problems;
  for (const problem of problems) {
    const item = make("li", "", checked.valid ? "warning" : "problem");
    if (problem.line) {
      const place = make("button", `line ${problem.line}`, "place");
      place.type = "button";
      place.onclick = () => select(problem.line, problem.column ?? 1);
      item.append(place, " ");
    }
    if (problem.key) {
      item.append(make("code", problem.key), " ");
    }
    item.append(problem.message);
    if (problem.setting) {
      item.append(` (${problem.setting})`);
    }
    if (problem.suggestion) {
      item.append(`; did you mean ${problem.suggestion}?`);
    }
    if (problem.accepted) {
      item.append(`; accepted: ${problem.accepted}`);
    }
    list.append(item);
  }
  if (checked.more) {
    list.append(make("li", `and ${checked.more} more problems`));
  }
  at("run").disabled = !checked.valid;
  at("state").textContent = checked.valid
    ? `${checked.name}: ${checked.duration_s} s of simulated time, ${checked.points} point${checked.points === 1 ? "" : "s"}`
    : "This scenario cannot be run yet.";
  if (checked.valid) {
    at("point").max = checked.points - 1;
    at("replication").max = checked.seeds - 1;
    at("axes").textContent = checked.axes.map(({ name, values }) => `${name}: ${values.join(", ")}`).join("; ");
  }
}

function select(line, column) {
  const text = at("text");
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  text.focus();
  text.setSelectionRange(start + column - 1, start + (lines[line - 1] ?? "").length);
}

// The run

function run() {
  startWorker();
  running = true;
  text = at("text").value;
  at("stop").disabled = false;
  at("question").hidden = true;
  at("progress").value = 0;
  at("state").textContent = "runs";
  ask({ run: request() }, (answer) => {
    if (answer.refused) {
      stopped("");
      show(answer.refused);
    } else if (answer.failed) {
      stopped(`The run has failed: ${answer.failed}`);
    } else if (answer.tables) {
      tables = cellwayTables(answer.tables);
      at("progress").value = 1;
      stopped(
        `${tables.name}, seed ${tables.seed}${tables.axes.map(([name, value]) => `, ${name} = ${value}`).join("")}: ` +
          `${tables.counts.events.toLocaleString("en")} events in ${answer.seconds.toFixed(2)} s`,
      );
      draw();
      summary();
    } else if (answer.long) {
      at("long").textContent = `This run takes about ${Math.ceil(answer.long)} s more.`;
      at("question").hidden = false;
      at("go-on").focus();
    } else {
      at("progress").value = answer.done;
    }
  });
}

function stopped(why) {
  const wasRunning = running;
  running = false;
  at("stop").disabled = true;
  at("question").hidden = true;
  at("state").textContent = why;
  if (wasRunning && text !== at("text").value) {
    // The text has changed meanwhile.
    check();
  }
}

// The figures

const number3 = (value) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());

function scale(unit, most) {
  const [factor, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => most >= least) ?? [1, ""];
  return unit === "bit/s" || unit === "B" ? { factor, unit: prefix + unit } : { factor: 1, unit: unit === "1" ? "" : unit };
}

function drawn(metrics) {
  for (const metric of metrics) {
    const all = tables.series.filter((series) => series.metric === metric && series.t.length > 0);
    // A line that is zero throughout has no place in the legend.
    const some = all.filter((series) => series.value.some((value) => value > 0));
    if (some.length > 0) {
      return some;
    }
  }
  return [];
}

function draw() {
  if (!tables) {
    return;
  }
  for (const { id, metrics, title } of FIGURES) {
    const known = drawn(metrics);
    const all = known.slice(0, LINES);
    // Cells and packets may be on one scale; the legend tells them apart.
    const several = new Set(all.map((series) => series.unit)).size > 1;
    const most = Math.max(...all.map((series) => series.value.reduce((a, b) => Math.max(a, b), 0)), 0);
    const { factor, unit } = scale(several ? "" : (all[0]?.unit ?? ""), most);
    at(`${id}-title`).textContent = all.length > 0 ? `${title}${unit ? `, ${unit}` : ""}` : `${title}: none recorded`;
    figure(at(id), all, factor, most);
    const legend = at(`${id}-legend`);
    legend.replaceChildren();
    all.forEach((series, index) => {
      const item = make("li", several ? `${series.subject} (${series.unit})` : series.subject);
      item.style.setProperty("--colour", `var(--c${index})`);
      legend.append(item);
    });
    if (known.length > all.length) {
      legend.append(make("li", `and ${known.length - all.length} more`));
    }
    at(id).setAttribute("aria-label", `${title} over time: ${all.map((series) => series.subject).join(", ") || "none"}`);
  }
}

function figure(canvas, all, factor, most) {
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const ratio = window.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  const to = canvas.getContext("2d");
  to.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name);
  const [left, right, top, bottom] = [52, 8, 8, 22];
  const end = tables.counts.simulated_s;
  const x = (t) => left + (t / end) * (width - left - right);
  const y = (value) => height - bottom - (value / (most || 1)) * (height - top - bottom);
  to.font = "12px system-ui, sans-serif";
  to.fillStyle = colour("--soft");
  to.strokeStyle = colour("--line");
  for (const part of [0, 0.5, 1]) {
    to.beginPath();
    to.moveTo(left, y(part * most));
    to.lineTo(width - right, y(part * most));
    to.stroke();
    to.textAlign = "right";
    to.fillText(number3((part * most) / factor), left - 6, y(part * most) + 4);
    to.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
    to.fillText(`${number3(part * end)} s`, x(part * end), height - 6);
  }
  all.forEach((series, index) => {
    to.strokeStyle = colour(`--c${index}`);
    to.lineWidth = 1.5;
    to.beginPath();
    // Of the rows in one column of pixels: the first, the lowest, the highest and the last value.
    const columns = [];
    series.t.forEach((t, row) => {
      const [here, value] = [Math.round(x(t)), series.value[row]];
      const column = columns.at(-1);
      if (column?.here === here) {
        Object.assign(column, { low: Math.min(column.low, value), high: Math.max(column.high, value), last: value });
      } else {
        columns.push({ here, first: value, low: value, high: value, last: value });
      }
    });
    // A change holds from its time on; a bin has its value up to its end.
    const changes = series.metric === "queue";
    let before = { here: left, last: columns[0].first };
    for (const column of columns) {
      to.lineTo(changes ? column.here : before.here, y(changes ? before.last : column.first));
      for (const value of [column.first, column.low, column.high, column.last]) {
        to.lineTo(column.here, y(value));
      }
      before = column;
    }
    if (changes) {
      to.lineTo(x(end), y(before.last));
    }
    to.stroke();
  });
}

// The table of all numbers, made when it is unfolded.
function summary() {
  const body = at("summary");
  body.replaceChildren();
  if (!tables || !at("numbers").open) {
    return;
  }
  for (const { subject, metric, unit, value } of tables.summary.slice(0, ROWS)) {
    const row = make("tr");
    row.append(make("td", subject), make("td", metric), make("td", number3(value), "number"), make("td", unit === "1" ? "" : unit));
    body.append(row);
  }
  if (tables.summary.length > ROWS) {
    const row = make("tr");
    row.append(make("td", `${tables.summary.length - ROWS} more rows: the command line has all`));
    body.append(row);
  }
}

// The address has the scenario, compressed, so that a link is a copy of the page.

async function toAddress() {
  const plain = new TextEncoder().encode(at("text").value);
  at("address").textContent = "";
  if (plain.length > LONGEST) {
    at("address").textContent = `The scenario is longer than ${LONGEST} octets: it is not in the address.`;
    history.replaceState(null, "", "#");
    return;
  }
  const stream = new Blob([plain]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const octets = new Uint8Array(await new Response(stream).arrayBuffer());
  let characters = "";
  octets.forEach((octet) => (characters += String.fromCharCode(octet)));
  const scenario = btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const { point, replication } = request();
  history.replaceState(null, "", `#${new URLSearchParams({ scenario, point, replication })}`);
}

async function fromAddress() {
  const keys = new URLSearchParams(location.hash.slice(1));
  const scenario = keys.get("scenario");
  if (!scenario) {
    return false;
  }
  try {
    const octets = await inflate(scenario.replaceAll("-", "+").replaceAll("_", "/"), "deflate-raw", LONGEST);
    at("text").value = new TextDecoder("utf-8", { fatal: true }).decode(octets);
    at("point").value = count(keys.get("point"));
    at("replication").value = count(keys.get("replication"));
    return true;
  } catch (error) {
    at("address").textContent = `The scenario of the address cannot be read: ${error.message}.`;
    return false;
  }
}

async function main() {
  const shipped = JSON.parse(at("scenarios").textContent);
  for (const name of Object.keys(shipped)) {
    at("shipped").append(make("option", name));
  }
  const load = () => {
    at("text").value = shipped[at("shipped").value];
    at("point").value = 0;
    at("replication").value = 0;
  };
  if (!(await fromAddress())) {
    load();
  }
  wasm = await WebAssembly.compile(await inflate(at("wasm").textContent.trim(), "gzip"));
  startWorker();
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      check();
      toAddress();
    }, 200);
  };
  at("shipped").onchange = () => {
    load();
    changed();
  };
  ["text", "point", "replication"].forEach((id) => at(id).addEventListener("input", changed));
  at("run").onclick = run;
  at("stop").onclick = () => {
    startWorker();
    stopped("stopped");
  };
  at("go-on").onclick = () => {
    at("question").hidden = true;
    worker.postMessage({ goOn: true });
  };
  at("no").onclick = at("stop").onclick;
  at("numbers").ontoggle = summary;
  // A link that is opened in the page itself; the page's own changes of the address are no such event.
  addEventListener("hashchange", async () => {
    if (await fromAddress()) {
      check();
    }
  });
  new ResizeObserver(draw).observe(at("goodput"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  check();
}

main().catch((error) => {
  at("state").textContent = `The page cannot start: ${error.message}`;
});
