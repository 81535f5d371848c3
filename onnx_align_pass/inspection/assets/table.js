/* The table of tensors: sorted, searched, and only as many rows as are in view. */

const LINE = 30, LINES = 14, EXTRA = 6; // CSS pixels of a row, as in the style; rows in view; rows around them
const LETTER = 7.6; // CSS pixels, of a name

/* What a column holds, how it is said, what is said where one points at it. `wide`: not on a phone. */
const COLUMNS = [
  { name: "name", kind: "name", value: (model, at) => model.name(at), more: (name) => name },
  { name: "dtype", value: (model, at) => model.dtype(at) },
  { name: "shape", kind: "wide", value: (model, at) => model.shape(at), more: (shape) => shape },
  { name: "bytes", kind: "number", value: (model, at) => model.bytes(at), words: sizeWords, more: exactly },
  { name: "file", kind: "wide", value: (model, at) => model.fileName(at), more: (file) => file },
  { name: "offset", kind: "number wide", value: (model, at) => model.offset(at), words: count, more: hex },
  { name: "aligned to", kind: "number wide", value: (model, at) => model.alignment(at), words: alignmentWords },
  { name: "remarks", kind: "wide", value: (model, at) => model.remarks(at).join(", ") },
];

class TensorTable {
  constructor(section, host) {
    Object.assign(this, { section, model: section.model, texts: [], column: null, down: false });
    this.#build(host);
    this.sort();
  }

  #build(host) {
    this.search = make("input", {
      type: "search", placeholder: "name, dtype, file, tied, error …", "aria-label": "Search tensors",
    });
    this.found = make("output", { class: "found" });
    this.heads = COLUMNS.map((column) => {
      const label = make("button", { type: "button" }, column.name);
      label.addEventListener("click", () => this.#turn(column));
      return make("th", { scope: "col", class: column.kind }, label);
    });
    this.body = make("tbody");
    this.table = make("table", { role: "grid", tabindex: 0, "aria-label": "Tensors" },
      make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    const kind = this.model.files.length > 1 ? "frame" : "frame one-file";
    this.frame = make("div", { class: kind }, this.table);
    host.append(make("div", { class: "tools" }, make("h3", {}, "Tensors", this.found), this.search), this.frame);
    this.search.addEventListener("input", () => this.filter());
    this.frame.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("click", (event) => this.#click(event));
    this.table.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  /** Sort by a column: up, then down, then in declaration order again. */
  #turn(column) {
    const again = this.column === column;
    [this.column, this.down] = again && this.down ? [null, false] : [column, again];
    this.sort();
  }

  sort() {
    const { column, down, model } = this;
    this.order = Array.from({ length: model.size }, (_, at) => at);
    if (column) {
      const keys = this.order.map((at) => column.value(model, at));
      const words = new Intl.Collator("en", { numeric: true });
      const compare = column.words
        ? (one, other) => Number(keys[one] ?? -1) - Number(keys[other] ?? -1)
        : (one, other) => words.compare(keys[one], keys[other]);
      this.order.sort((one, other) => (down ? -1 : 1) * compare(one, other) || one - other);
    }
    this.heads.forEach((head, at) => {
      if (COLUMNS[at] === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.filter();
  }

  /** Keep the tensors in which each of the words that were typed is found. */
  filter() {
    const wanted = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.order.filter((at) => wanted.every((word) => this.#text(at).includes(word)));
    const all = count(this.model.size);
    this.found.textContent = wanted.length ? `${count(this.shown.length)} of ${all}` : all;
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    this.frame.scrollTop = 0;
    this.draw();
  }

  #text(at) {
    const { model } = this;
    return (this.texts[at] ??= [
      model.name(at), model.dtype(at), model.fileName(at), model.word("kinds", at), ...model.remarks(at),
    ].join("\n").toLowerCase());
  }

  draw() {
    this.letters = Math.max(8, Math.floor((this.heads[0].clientWidth - 28) / LETTER));
    const first = Math.max(0, Math.floor(this.frame.scrollTop / LINE) - EXTRA);
    const last = Math.min(this.shown.length, first + LINES + 2 * EXTRA);
    const rows = Array.from({ length: Math.max(0, last - first) }, (_, line) => this.#row(first + line));
    if (!this.shown.length) rows.push(make("tr", {}, make("td", { class: "none" }, "no tensor is like that")));
    this.body.replaceChildren(space(first), ...rows, space(this.shown.length - last));
    const chosen = this.body.querySelector("[aria-selected=true]");
    if (chosen) this.table.setAttribute("aria-activedescendant", chosen.id);
    else this.table.removeAttribute("aria-activedescendant");
  }

  #row(line) {
    const at = this.shown[line];
    const cells = COLUMNS.map(({ kind, value, words, more }) => {
      const held = value(this.model, at);
      if (held === null) return make("td", { class: kind });
      const said = kind === "name" ? shortened(held, this.letters) : words ? words(held) : held;
      return make("td", { class: kind, title: more && more(held).slice(0, 400) }, make("bdi", {}, said));
    });
    const selected = String(this.section.selected === at);
    return make("tr", {
      id: `${this.section.id}-tensor-${at}`, "data-at": at, "aria-rowindex": line + 2, "aria-selected": selected,
    }, ...cells);
  }

  /** Scroll the table, not the page, to a tensor; the search ends where it hides it. */
  reveal(at) {
    if (!this.shown.includes(at)) {
      this.search.value = "";
      this.filter();
    }
    const line = this.shown.indexOf(at), first = Math.ceil(this.frame.scrollTop / LINE);
    if (line < first || line > first + LINES - 3) this.frame.scrollTop = Math.max(0, line - (LINES >> 1)) * LINE;
    this.draw();
  }

  /** A click selects, a double click shows it on the map too. */
  #click(event) {
    const row = event.target.closest("tr[data-at]");
    if (!row) return;
    this.section.select(Number(row.dataset.at));
    if (event.detail > 1) this.section.show(Number(row.dataset.at));
  }

  #key(event) {
    const { selected } = this.section, line = selected === null ? -1 : this.shown.indexOf(selected);
    const to = {
      ArrowDown: line + 1, ArrowUp: line - 1, PageDown: line + LINES - 1, PageUp: line - LINES + 1,
      Home: 0, End: this.shown.length - 1,
    }[event.key];
    if (event.target !== this.table || (to === undefined && event.key !== "Enter")) return;
    event.preventDefault();
    if (event.key === "Enter") {
      if (selected !== null) this.section.show(selected);
    } else if (this.shown.length) {
      this.section.select(this.shown[Math.max(0, Math.min(this.shown.length - 1, to))]);
    }
  }
}

/** Room for the rows that are not drawn. */
function space(lines) {
  const row = make("tr", { class: "space", "aria-hidden": "true", hidden: lines <= 0 }, make("td"));
  row.style.height = `${lines * LINE}px`;
  return row;
}
