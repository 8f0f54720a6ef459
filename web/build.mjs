// node build.mjs ENGINE.wasm FOLDER: makes the lab in FOLDER, files that any browser opens from a disk or a web server.
// One script for each kind of page, one with the simulator, and a page for each text in course/.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import * as esbuild from "esbuild";

import { licences } from "./licences.mjs";
import { coursePages, listOfCourse } from "./pages.mjs";

const WEB = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.dirname(WEB);
const [engine, target] = process.argv.slice(2).map((name) => path.resolve(name));
if (!target) {
  console.error("usage: node build.mjs ENGINE.wasm FOLDER");
  process.exit(2);
}

const script = async (entry, options = {}) => {
  const result = await esbuild.build({
    entryPoints: [path.join(WEB, "src", entry)],
    bundle: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    minify: true,
    legalComments: "inline",
    write: false,
    ...options,
  });
  return result.outputFiles[0].text;
};

/** Returns the shipped scenarios that a page can run, by name. */
async function scenarios(loader, wasm) {
  const { CellwayEngine } = evaluated(loader);
  const engine = await CellwayEngine.load(await WebAssembly.compile(wasm));
  const folder = path.join(ROOT, "scenarios");
  const found = {};
  for (const name of (await readdir(folder)).filter((name) => name.endsWith(".toml")).sort()) {
    const text = await readFile(path.join(folder, name), "utf8");
    if (engine.check({ text }).valid) {
      found[path.basename(name, ".toml")] = text;
    }
  }
  return found;
}

/** Returns the exports of a CommonJS script. */
function evaluated(text) {
  const module = { exports: {} };
  new Function("module", "exports", text)(module, module.exports);
  return module.exports;
}

const files = new Map();
const wasm = await readFile(engine);
// For programs in Node, such as the tests.
const loader = await script("node.ts", { format: "cjs", minify: false, platform: "node" });
files.set("engine.cjs", loader);
const data = {
  worker: await script("worker.ts"),
  player: await script("player.ts"),
  scenarios: await scenarios(loader, wasm),
  wasm: gzipSync(wasm, { level: 9 }).toString("base64"),
};
files.set("data.js", `globalThis.cellwayData = ${JSON.stringify(data)};\n`);
files.set("lab.js", await script("lab.ts"));
files.set("course.js", await script("course.ts"));
const styles = [path.join(WEB, "node_modules/uplot/dist/uPlot.min.css"), path.join(WEB, "style.css")];
files.set("style.css", (await Promise.all(styles.map((name) => readFile(name, "utf8")))).join("\n"));
const course = await coursePages(path.join(WEB, "course"), await readFile(path.join(WEB, "course.html"), "utf8"));
course.forEach(({ file, html }) => files.set(file, html));
const list = listOfCourse(course);
const index = await readFile(path.join(WEB, "index.html"), "utf8");
files.set(
  "index.html",
  index.replace("{{course}}", () => list),
);
files.set("LICENCES.txt", await licences(ROOT, WEB));

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
let octets = 0;
for (const [name, text] of files) {
  await writeFile(path.join(target, name), text);
  octets += Buffer.byteLength(text);
}
console.log(
  `${path.relative(process.cwd(), target)}: ${course.length} pages of the course and the lab, ${octets} octets`,
);
