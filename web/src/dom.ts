// Elements of a page. Texts of scenarios, addresses and messages are set as text, never as HTML.

export function at<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) {
    throw new Error(`the page has no element ${id}`);
  }
  return element as T;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = className;
  return element;
}

export function button(text: string, action: () => void): HTMLButtonElement {
  const element = make("button", text);
  element.type = "button";
  element.onclick = action;
  return element;
}

/** The own texts of buttons that have copied: a second click may find the answer to the first one. */
const named = new WeakMap<HTMLButtonElement, string | null>();

/** Copies a text, and says so in the button for a moment. */
export async function copy(text: string, from: HTMLButtonElement): Promise<void> {
  const before = named.get(from) ?? from.textContent;
  named.set(from, before);
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "Copied";
  } catch {
    // A page from the disk may have no clipboard: the text is selected for the keyboard.
    const area = make("textarea", text);
    from.after(area);
    area.select();
    from.textContent = document.execCommand("copy") ? "Copied" : "The browser refuses to copy";
    area.remove();
    from.focus();
  }
  setTimeout(() => (from.textContent = before), 1500);
}
