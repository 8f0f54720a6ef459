// The pages of the course: a text with its front matter and a scenario become one page of HTML each.

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import MarkdownIt from "markdown-it";
import { parse } from "smol-toml";

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
const escaped = markdown.utils.escapeHtml;

/** Returns the pages in the order of their names: { file, title, about, html }. */
export async function coursePages(folder, template) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".md")).sort();
  const read = async (name) => {
    const text = await readFile(path.join(folder, name), "utf8");
    const parts = /^\+\+\+\n([\s\S]*?)\n\+\+\+\n([\s\S]*)$/.exec(text);
    if (!parts) {
      throw new Error(`web/course/${name}: it begins with a front matter between two lines +++`);
    }
    const stem = path.basename(name, ".md");
    const scenario = await readFile(path.join(folder, `${stem}.toml`), "utf8");
    return { stem, file: `${stem.replace(/^\d+-/, "")}.html`, front: parse(parts[1]), text: parts[2], scenario };
  };
  const pages = await Promise.all(names.map(read));
  return pages.map((page, index) => {
    const { file, front, text, scenario } = page;
    const { title, about, ...rest } = front;
    const data = { name: page.stem, scenario, ...rest };
    const link = (other, words) => (other ? `<a href="${other.file}">${words(other)}</a>` : "");
    const values = {
      title: escaped(title),
      about: escaped(about),
      number: `${index + 1} of ${pages.length}`,
      text: markdown.render(text),
      command: escaped(front.command),
      data: JSON.stringify(data).replaceAll("<", "\\u003c"),
      before: link(pages[index - 1], (other) => `← ${escaped(other.front.title)}`),
      after: link(pages[index + 1], (other) => `${escaped(other.front.title)} →`),
    };
    const html = template.replace(/\{\{(\w+)\}\}/g, (_, key) => {
      if (values[key] === undefined) {
        throw new Error(`web/course.html: there is no {{${key}}}`);
      }
      return values[key];
    });
    return { file, title, about, html };
  });
}

/** Returns the list of the pages as HTML. */
export const listOfCourse = (pages) =>
  pages
    .map(({ file, title, about }) => `<li><a href="${file}">${escaped(title)}</a> ${escaped(about)}</li>`)
    .join("\n");
