// node build.mjs ENGINE.wasm FOLDER: makes the lab in FOLDER, files that any browser opens from a disk or a web server.
// One script for each kind of page, one with the simulator, and a page for each text in course/.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import * as esbuild from "esbuild";

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

/** The shipped scenarios that need no file, by name. */
async function scenarios() {
  const folder = path.join(ROOT, "scenarios");
  const found = {};
  for (const name of (await readdir(folder)).filter((name) => name.endsWith(".toml")).sort()) {
    const text = await readFile(path.join(folder, name), "utf8");
    if (!/^\s*(forward|back|both) = \{ trace = /m.test(text)) {
      found[path.basename(name, ".toml")] = text;
    }
  }
  return found;
}

const files = new Map();
const wasm = gzipSync(await readFile(engine), { level: 9 }).toString("base64");
const data = {
  worker: await script("worker.ts"),
  player: await script("player.ts"),
  scenarios: await scenarios(),
  wasm,
};
files.set("data.js", `globalThis.cellwayData = ${JSON.stringify(data)};\n`);
files.set("lab.js", await script("lab.ts"));
files.set("course.js", await script("course.ts"));
const styles = [path.join(WEB, "node_modules/uplot/dist/uPlot.min.css"), path.join(WEB, "style.css")];
files.set("style.css", (await Promise.all(styles.map((name) => readFile(name, "utf8")))).join("\n"));
const course = await coursePages(path.join(WEB, "course"), await readFile(path.join(WEB, "course.html"), "utf8"));
course.forEach(({ file, html }) => files.set(file, html));
const list = listOfCourse(course);
for (const name of ["index.html"]) {
  files.set(
    name,
    (await readFile(path.join(WEB, name), "utf8")).replace("{{course}}", () => list),
  );
}
// For programs in Node, such as the tests.
files.set("engine.cjs", await script("node.ts", { format: "cjs", minify: false, platform: "node" }));
files.set("LICENCES.txt", await licences());

/** The licences of the libraries that are in the scripts. */
async function licences() {
  const texts = [`Cellway\n\n${await readFile(path.join(ROOT, "LICENSE"), "utf8")}`];
  texts.push(`uPlot\n\n${await readFile(path.join(WEB, "node_modules/uplot/LICENSE"), "utf8")}`);
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

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
