// The dialog in which a person corrects a draft. It keeps what was typed when somebody else was first.

import { api } from "./api.js";
import { element, nameOf } from "./tile.js";

const MOST_COLORS = 8;
const STALE = 412;
const part = (name) => document.getElementById(`editor${name ? `-${name}` : ""}`);

export class Editor {
  // `saved(item, draft)`, `accept(item)` and `remove(item)` are what its buttons lead to.
  constructor({ categories, palette, saved, accept, remove }) {
    this.does = { saved, accept, remove };
    this.categories = categories;
    part("palette").append(new Option("Choose…", ""), ...Object.entries(palette).map(([name, hex]) => new Option(name, hex)));
    part("palette").addEventListener("change", (event) => this.addColor(event.target));
    part("close").addEventListener("click", () => part().close());
    part("delete").addEventListener("click", () => this.remove());
    part("use").addEventListener("change", () => this.showImage());
    part("form").addEventListener("submit", (event) => this.submit(event));
  }

  async open(item) {
    const { content: draft, etag } = await api.get(item.draft.id);
    Object.assign(this, { item, draft, etag });
    part("title").textContent = nameOf(item);
    part("delete").textContent = "Delete";
    this.sure = false;
    this.tell("");
    this.fill();
    part().showModal();
  }

  // Every field from the draft, but for what `mine` names.
  fill(mine = {}) {
    const { category, title, notes, colors, useImage } = { ...valuesOf(this.draft), ...mine };
    this.colors = [...colors];
    const names = new Set([...this.categories, valuesOf(this.draft).category, category]); // one that is allowed no more can stay
    part("category").replaceChildren(...[...names].map((name) => new Option(name, name)));
    part("category").value = category;
    part("name").value = title ?? "";
    part("notes").value = notes ?? "";
    for (const radio of part("use").querySelectorAll("input")) radio.checked = radio.value === useImage;
    part("use").hidden = !this.draft.image;
    part("accept").hidden = this.draft.status !== "Ready";
    this.showColors();
    this.showImage();
  }

  showImage() {
    const use = part("use").querySelector("input:checked")?.value;
    const source = this.sourceOf(use);
    part("image").hidden = !source;
    if (source) part("image").src = source;
    part("image").alt = use === "original" ? "The photo as taken" : "The garment, cut out";
    part("unseen").hidden = Boolean(source) || !this.draft.image;
  }

  // The cut-out has an address only while the draft uses it.
  sourceOf(use) {
    const { id, image } = this.draft;
    if (!image || image.use === use) return image?.displayUrl;
    return use === "original" ? `${document.body.dataset.base}/wardrobe/drafts/${id}/image/original-display` : null;
  }

  showColors() {
    part("colors").replaceChildren(...this.colors.map((color, n) => this.swatch(color, n)));
    part("palette").disabled = this.colors.length >= MOST_COLORS;
  }

  swatch(color, n) {
    const item = element("li");
    const dot = element("b");
    dot.style.background = color.hex;
    const remove = element("button", { type: "button", className: "icon", textContent: "×" });
    remove.setAttribute("aria-label", `Remove ${color.name}`);
    remove.addEventListener("click", () => {
      this.colors.splice(n, 1);
      this.showColors();
      part("palette").focus();
    });
    item.append(dot, color.name, remove);
    return item;
  }

  addColor(select) {
    const name = select.selectedOptions[0].text;
    if (select.value && !this.colors.some((color) => color.name === name)) this.colors.push({ name, hex: select.value });
    select.value = "";
    this.showColors();
  }

  changes() {
    const now = {
      category: part("category").value,
      title: part("name").value.trim() || null,
      notes: part("notes").value.trim() || null,
      colors: this.colors.map(({ name, hex, share }) => ({ name, hex, ...(share === undefined ? {} : { share }) })),
      useImage: part("use").querySelector("input:checked")?.value,
    };
    const old = valuesOf(this.draft);
    return Object.fromEntries(Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(old[key])));
  }

  async submit(event) {
    event.preventDefault();
    const accept = event.submitter?.value === "accept";
    const changes = this.changes();
    try {
      if (Object.keys(changes).length) {
        const { content } = await api.patch(this.draft.id, this.etag, changes);
        this.does.saved(this.item, content);
      }
      part().close();
      if (accept) this.does.accept(this.item);
    } catch (error) {
      this.tell(error.status === STALE ? await this.mend() : error.message);
    }
  }

  // Somebody was faster: what they wrote comes in beside what was entered here. Gives the words for it.
  async mend() {
    try {
      const { content, etag } = await api.get(this.draft.id);
      const mine = this.changes();
      Object.assign(this, { draft: content, etag });
      this.fill(mine);
      return "This photo has changed meanwhile. What you entered is still here: save again.";
    } catch (error) {
      return error.message;
    }
  }

  remove() {
    if (!this.sure) {
      this.sure = true;
      part("delete").textContent = "Really delete?";
      return;
    }
    part().close();
    this.does.remove(this.item);
  }

  tell(text) {
    part("notice").textContent = text;
    part("notice").hidden = !text;
  }
}

function valuesOf(draft) {
  const none = { category: "Uncategorised", title: null, notes: null, colors: [] };
  return { ...(draft.metadata ?? none), useImage: draft.image?.use };
}
