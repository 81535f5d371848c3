/* The page: theme, tips, and a section for each model, drawn when it comes into view. */

const tip = {
  box: document.getElementById("tip"),
  show(inside, x, y) {
    this.box.replaceChildren(...inside);
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect(), room = document.documentElement;
    const left = Math.max(8, Math.min(x + 14, room.clientWidth - width - 8));
    const top = y + 18 + height > room.clientHeight - 8 ? Math.max(8, y - height - 12) : y + 18;
    this.box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  },
  hide() { this.box.hidden = true; },
};

let painted = null;
/** The colours of the theme. */
const paint = () => (painted ??= new Paint());

/** What is to be said of a tensor, as elements. */
function describe(model, at) {
  const offset = model.offset(at), bytes = model.bytes(at);
  const size = bytes === null ? "size unknown" : `${sizeWords(bytes)} (${exactly(bytes)})`;
  const lines = [`${model.dtype(at)}, ${model.shape(at)}, ${size}`];
  if (offset === null) lines.push(model.isInline(at) ? "inline: inside the .onnx" : model.fileName(at));
  else lines.push(`offset ${count(offset)} (${hex(offset)}), a multiple of ${boundaryWords(model.alignment(at))}`);
  const tied = model.tiedWith(at).filter((one) => one !== at);
  if (tied.length) lines.push(`tied: the same bytes as ${namesOf(model, tied)}`);
  const same = model.columns.same[at];
  if (same !== undefined) lines.push(`duplicate: equal to ${namesOf(model, [same])}, which lies elsewhere`);
  const found = model.findings(at).slice(0, 3).map((one) => make("p", { class: one.severity }, one.message));
  return [make("b", {}, make("bdi", {}, model.name(at))), ...lines.filter(Boolean).map((line) => make("p", {}, line)), ...found];
}

function namesOf(model, tensors) {
  const named = tensors.slice(0, 3).map((at) => shortened(model.name(at), 80)).join(", ");
  return tensors.length > 3 ? `${named} and ${count(tensors.length - 3)} more` : named;
}

const HELP = "Rows are read like lines of text, from the file's first byte to its last. Point at a block to see "
  + "what it is, click to select it. After a click, or with Ctrl, the wheel zooms; so does pinching. Drag to move; "
  + "a double click shows the whole file. The strip above the rows is always the whole file.";
const KEYS = "With the map in focus: ← and → go from tensor to tensor, + and − zoom, ↑ and ↓ move, Enter zooms to "
  + "the tensor, Escape shows the whole file.";

/** One model: its maps, its table, and which tensor is selected in both. */
class Section {
  constructor(element, id) {
    Object.assign(this, { element, id, selected: null, colour: "dtype", maps: [] });
    this.model = new Model(JSON.parse(element.querySelector("script.data").textContent));
    this.#legend();
    this.table = new TensorTable(this, element.querySelector(".tensors"));
    this.bar = element.appendChild(make("div", { class: "selected", role: "status", hidden: true }));
    for (const host of element.querySelectorAll("[data-file]")) {
      whenSeen(host, () => this.map(Number(host.dataset.file)));
    }
  }

  /** The map of a file, made when it is first needed. */
  map(at) {
    const host = this.element.querySelector(`[data-file="${at}"]`);
    if (host && !this.maps[at]) this.maps[at] = new FileMap(this, host, this.model.files[at]);
    return this.maps[at];
  }

  #legend() {
    const files = this.element.querySelector(".files");
    if (!files) return;
    this.keys = make("ul", { class: "legend" });
    const choices = Object.keys(COLOURS).map((name) => {
      const isChosen = name === this.colour;
      const radio = make("input", { type: "radio", name: `${this.id}-colour`, value: name, checked: isChosen });
      radio.addEventListener("change", () => this.paintBy(name));
      return make("label", {}, radio, name);
    });
    const choice = make("fieldset", { class: "choice" }, make("legend", {}, "colour by"), ...choices);
    const help = make("details", { class: "help" }, make("summary", {}, "How to read a map"),
      make("p", {}, HELP), make("p", {}, KEYS));
    files.querySelector("h3").after(help, make("div", { class: "tools" }, choice, this.keys));
    this.paintBy(this.colour);
  }

  /** Colour tensors by dtype, size or alignment. */
  paintBy(name) {
    this.colour = name;
    const entries = COLOURS[name].legend(this.model);
    for (const [kind, key, word] of OTHERS) {
      if (this.model.files.some((file) => file.kinds.includes(kind))) entries.push([key, word]);
    }
    const keys = entries.map(([key, word]) => make("li", {}, make("i", { class: `swatch ${key}` }), word));
    this.keys.replaceChildren(...keys);
    this.redraw();
  }

  redraw() { this.maps.forEach((map) => map.draw()); }

  /** Select a tensor, or none, in the table and on the map. */
  select(at) {
    this.selected = at;
    if (at !== null) {
      this.table.reveal(at);
      this.map(this.model.home(at))?.show(at, false);
    } else this.table.draw();
    this.maps.forEach((map) => map.mark());
    this.#say(at);
  }

  #say(at) {
    this.bar.hidden = at === null;
    if (at === null) return;
    const buttons = make("div", { class: "buttons" },
      this.isOnMap(at) && button("Show on the map", "Zoom the map to this tensor", () => this.show(at)),
      button("Show in the table", "Scroll to the table of tensors", () => scrollTo(this.table.frame)),
      button("×", "Select nothing", () => this.select(null)));
    const place = make("p", { class: "place" }, this.model.place(at));
    this.bar.replaceChildren(make("div", {}, ...describe(this.model, at), place), buttons);
  }

  isOnMap(at) {
    return this.model.offset(at) !== null && Boolean(this.map(this.model.home(at)));
  }

  /** Zoom the map to a tensor, and scroll to it. */
  show(at) {
    if (!this.isOnMap(at)) return;
    const map = this.map(this.model.home(at));
    map.show(at, true);
    scrollTo(map.host);
  }
}

function scrollTo(element) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}

/** Do something once, when an element comes near the view. */
function whenSeen(element, act) {
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((one) => one.isIntersecting)) return;
    observer.disconnect();
    act();
  }, { rootMargin: "600px" }).observe(element);
}

const sections = [];
document.querySelectorAll("script.data").forEach(({ parentElement: section }, at) => {
  whenSeen(section, () => sections.push(new Section(section, `section-${at}`)));
});

/* Why a preset is not satisfied: shown when one points at its badge, or comes to it by keyboard. */
for (const badge of document.querySelectorAll(".badge")) {
  const show = () => {
    const box = badge.getBoundingClientRect();
    tip.show([make("p", {}, badge.querySelector(".why").textContent)], box.left - 14, box.bottom - 12);
  };
  badge.addEventListener("pointerenter", show);
  badge.addEventListener("focus", show);
  badge.addEventListener("click", show);
  for (const end of ["pointerleave", "blur"]) badge.addEventListener(end, () => tip.hide());
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hide(); });

const theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

function themeChanged() {
  theme.textContent = isDark() ? "Light theme" : "Dark theme";
  painted = null;
  sections.forEach((section) => section.redraw());
}

theme.hidden = false;
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  themeChanged();
});
system.addEventListener("change", themeChanged);
themeChanged();
