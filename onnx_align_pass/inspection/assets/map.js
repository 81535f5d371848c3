/* The map of one data file: rows of bytes, above them the whole file with what is in view. */

const MINI = 10, NARROW = 560; // CSS pixels
const ROOMY = { height: 22, gap: 8, most: 12, mostNarrow: 20 };
const DENSE = { height: 13, gap: 5, most: 24, mostNarrow: 32 };
const MANY = 1000; // ranges, from which on rows are dense

class FileMap {
  constructor(section, host, file) {
    Object.assign(this, { section, host, file, model: section.model });
    this.view = new View(file.bytes);
    this.row = file.size < MANY ? ROOMY : DENSE;
    this.pitch = this.row.height + this.row.gap;
    host.classList.toggle("dense", this.row === DENSE);
    this.hovered = -1;
    this.pointers = new Map();
    this.#build();
    this.#listen();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(this.base.parentElement);
  }

  #build() {
    this.range = make("output", { class: "range" });
    const tools = make("div", { class: "tools" },
      button("−", "Zoom out", () => this.zoom(-1)),
      button("+", "Zoom in", () => this.zoom(1)),
      this.reset = button("Whole file", "Show the whole file", () => this.whole()),
      this.range);
    this.mini = make("canvas", { class: "mini", "aria-hidden": "true" });
    this.gutter = make("ol", { class: "gutter", "aria-hidden": "true" });
    this.base = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", {
      class: "over", tabindex: 0, role: "application", "aria-roledescription": "map",
      "aria-label": `Map of ${this.file.name}, ${sizeWords(this.file.bytes)}. `
        + "Arrow keys left and right go from tensor to tensor, plus and minus zoom, "
        + "up and down move, Enter zooms to the tensor, Escape shows the whole file.",
    });
    const sheet = make("div", { class: "sheet" },
      this.gutter, make("div", { class: "rows" }, this.base, this.over));
    this.host.append(tools, this.mini, sheet);
  }

  resize() {
    const { clientWidth } = this.base.parentElement;
    if (!clientWidth) return;
    this.ratio = window.devicePixelRatio || 1;
    this.view.fit(clientWidth < NARROW ? this.row.mostNarrow : this.row.most);
    const height = this.view.rows * this.pitch;
    for (const [canvas, tall] of [[this.base, height], [this.over, height], [this.mini, MINI]]) {
      canvas.width = Math.round(canvas.parentElement.clientWidth * this.ratio);
      canvas.height = Math.round(tall * this.ratio);
      canvas.style.height = `${tall}px`;
    }
    this.base.parentElement.style.height = `${height}px`;
    this.draw();
  }

  /** Paint all again, at the next frame. */
  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.base.width) this.#paint();
    });
  }

  #paint() {
    const { view, base } = this, pen = base.getContext("2d");
    const painter = new Painter(this.model, this.file, paint(), this.ratio, this.section.colour);
    pen.clearRect(0, 0, base.width, base.height);
    const boundary = BOUNDARIES.find((one) => (one / view.rowBytes) * base.width >= 12 * this.ratio);
    const strips = Array.from({ length: view.rows }, (_, row) => this.#strip(row));
    const named = strips.map((strip) => painter.strip(pen, strip));
    if (boundary) this.#lines(pen, boundary);
    strips.forEach(({ top, height }, row) => {
      for (const block of named[row]) if (block.starts || !row) painter.name(pen, block, top, height);
    });
    this.#paintMini(painter);
    this.#say(boundary);
    this.mark();
  }

  /** Where a row of the view is on the canvas, in device pixels. */
  #strip(row) {
    const { view, ratio } = this;
    return {
      from: view.start + row * view.rowBytes, bytes: view.rowBytes, width: this.base.width,
      top: Math.round((row * this.pitch + this.row.gap / 2) * ratio), height: Math.round(this.row.height * ratio),
    };
  }

  /** Lines through all rows at each multiple of a boundary: a row is a multiple of it too. */
  #lines(pen, boundary) {
    const { view, base } = this;
    pen.fillStyle = paint().grid;
    for (let at = -view.start % boundary; at < view.rowBytes; at += boundary) {
      if (at >= 0) pen.fillRect(Math.round((at / view.rowBytes) * base.width), 0, Math.round(this.ratio), base.height);
    }
    const { from, top, height } = this.#strip(view.rows - 1), end = ((view.size - from) / view.rowBytes) * base.width;
    pen.clearRect(end + this.ratio, top, base.width, height + top); // behind the end of the file
  }

  #paintMini(painter) {
    const { mini, view } = this, pen = mini.getContext("2d");
    const whole = { from: 0, bytes: view.size, width: mini.width, top: 0, height: mini.height };
    pen.clearRect(0, 0, mini.width, mini.height);
    painter.strip(pen, whole);
    if (view.isWhole) return;
    const scale = mini.width / view.size;
    const left = view.start * scale, right = Math.max(view.end * scale, left + 3 * this.ratio);
    pen.globalAlpha = 0.7;
    pen.fillStyle = paint().paper;
    pen.fillRect(0, 0, left, mini.height);
    pen.fillRect(right, 0, mini.width - right, mini.height);
    pen.globalAlpha = 1;
    pen.strokeStyle = paint().ink;
    pen.lineWidth = 2 * this.ratio;
    pen.strokeRect(left, 0, right - left, mini.height);
  }

  #say(boundary) {
    const { view } = this;
    const lines = boundary ? `, lines at ${boundaryWords(boundary)}` : "";
    this.range.textContent = `${hex(view.start)} to ${hex(view.end)}, a row is ${boundaryWords(view.rowBytes)}${lines}`;
    Object.assign(this.over.dataset, { start: view.start, rowBytes: view.rowBytes, rows: view.rows });
    this.reset.disabled = view.isWhole;
    const labels = Array.from({ length: view.rows }, (_, row) => view.start + row * view.rowBytes);
    this.gutter.replaceChildren(...labels.map((at) => make("li", {}, at < view.size ? hex(at) : "")));
  }

  /** Shade what is pointed at, and outline what is selected. */
  mark() {
    const { over, file, model } = this, { selected } = this.section, pen = over.getContext("2d");
    pen.clearRect(0, 0, over.width, over.height);
    pen.fillStyle = pen.strokeStyle = paint().ink;
    pen.lineWidth = 2 * this.ratio;
    if (this.hovered >= 0) {
      pen.globalAlpha = 0.25;
      this.#eachPart(file.starts[this.hovered], file.ends[this.hovered], (...box) => pen.fillRect(...box));
      pen.globalAlpha = 1;
    }
    if (selected === null || model.files[model.home(selected)] !== file) return;
    const start = Number(model.offset(selected));
    this.#eachPart(start, start + Number(model.length(selected)), (left, top, width, height, isFirst) => {
      const inner = 2 * this.ratio;
      pen.strokeStyle = paint().paper;
      if (width > 8 * this.ratio) pen.strokeRect(left + inner, top + inner, width - 2 * inner, height - 2 * inner);
      pen.strokeStyle = paint().ink;
      pen.strokeRect(left, top, width, height);
      if (isFirst) this.#pointer(pen, left + Math.min(width, 8 * this.ratio) / 2, top);
    });
  }

  /** Call back with each box of the canvas that shows bytes of [start, end). */
  #eachPart(start, end, each) {
    const { ratio, view } = this;
    for (let row = 0; row < view.rows; row += 1) {
      const { from, bytes, width, top, height } = this.#strip(row);
      if (end <= from || start >= from + bytes) continue;
      const left = Math.max(0, ((start - from) / bytes) * width);
      const right = Math.min(width, Math.max(((end - from) / bytes) * width, left + 2 * ratio));
      each(left, top, right - left, height, start >= from);
    }
  }

  /** A small arrow above a box, so that a narrow one is found. */
  #pointer(pen, middle, top) {
    const side = 4 * this.ratio, centre = Math.min(this.over.width - side, Math.max(side, middle));
    pen.beginPath();
    pen.moveTo(centre - side, top - side);
    pen.lineTo(centre + side, top - side);
    pen.lineTo(centre, top);
    pen.fill();
  }

  /** The row, with its fraction, under a pointer. */
  #rowAt(event) {
    const box = this.over.getBoundingClientRect();
    const across = Math.min(0.999999, Math.max(0, (event.clientX - box.left) / box.width));
    const row = Math.floor((event.clientY - box.top) / this.pitch);
    return Math.min(this.view.rows - 1, Math.max(0, row)) + across;
  }

  /** The range under a pointer: where several share a pixel, dead bytes before others. */
  #rangeAt(event) {
    const { view, file } = this, box = this.over.getBoundingClientRect();
    const byte = view.start + this.#rowAt(event) * view.rowBytes;
    const lower = (event.clientY - box.top) % this.pitch > this.pitch / 2;
    let found = -1, dead = -1, number = 0;
    file.within(Math.floor(byte), byte + Math.max(1, view.rowBytes / box.width), (at) => {
      number += 1;
      if (file.kinds[at] === DEAD && dead < 0) dead = at;
      const inside = file.starts[at] <= byte && file.ends[at] > byte;
      if (found < 0 || (inside && lower && file.lane[at])) found = at;
    });
    const narrow = found >= 0 && file.ends[found] - file.starts[found] < view.rowBytes / box.width;
    return { at: dead >= 0 && narrow ? dead : found, number };
  }

  #hover(event) {
    const { at, number } = this.#rangeAt(event);
    this.over.classList.toggle("busy", at >= 0);
    if (at !== this.hovered) {
      this.hovered = at;
      this.mark();
    }
    if (at < 0) return tip.hide();
    const tensor = this.file.tensors[at];
    const said = tensor >= 0 ? describe(this.model, tensor) : this.#describeGap(at);
    if (number > 3) said.push(make("p", { class: "more" }, `and ${count(number - 1)} more here: zoom in`));
    return tip.show(said, event.clientX, event.clientY);
  }

  #describeGap(at) {
    const { file } = this, [start, end] = [file.starts[at], file.ends[at]];
    const words = { [PADDING]: "padding", [DEAD]: "dead bytes: no tensor uses them", [HEADER]: file.head };
    return [
      make("b", {}, words[file.kinds[at]]),
      make("p", {}, `${exactly(end - start)}, from ${count(start)} (${hex(start)}) to ${count(end)}`),
    ];
  }

  leave() {
    tip.hide();
    if (this.hovered < 0) return;
    this.hovered = -1;
    this.mark();
  }

  zoom(steps, row) {
    this.view.zoom(steps, row);
    this.leave();
    this.draw();
  }

  whole() {
    this.view.move(0, this.view.whole);
    this.draw();
  }

  /** Show a tensor: where it is, as it is zoomed, or zoomed to it. */
  show(at, zoomed) {
    const offset = Number(this.model.offset(at)), length = Number(this.model.length(at));
    if (zoomed) this.view.frame(offset, length);
    else this.view.reveal(offset, length);
    this.draw();
  }

  #listen() {
    const { over, mini } = this;
    over.addEventListener("pointerdown", (event) => this.#press(event));
    over.addEventListener("pointermove", (event) => this.#drag(event));
    over.addEventListener("pointerup", (event) => this.#release(event));
    over.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    over.addEventListener("pointerleave", () => this.leave());
    over.addEventListener("dblclick", () => this.whole());
    over.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    over.addEventListener("keydown", (event) => this.#key(event));
    const jump = (event) => {
      if (!event.buttons) return;
      const box = mini.getBoundingClientRect();
      this.view.move(((event.clientX - box.left) / box.width) * this.view.size - this.view.span / 2);
      this.draw();
    };
    mini.addEventListener("pointerdown", (event) => { mini.setPointerCapture(event.pointerId); jump(event); });
    mini.addEventListener("pointermove", jump);
  }

  #press(event) {
    if (event.button) return;
    this.over.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.from = { event, start: this.view.start, rowBytes: this.view.rowBytes, moved: false };
    if (this.pointers.size === 2) this.from.apart = this.#apart();
  }

  #drag(event) {
    if (!this.pointers.has(event.pointerId)) return event.pointerType === "touch" ? null : this.#hover(event);
    this.pointers.set(event.pointerId, event);
    if (this.pointers.size === 2) return this.#pinch(event);
    const across = event.clientX - this.from.event.clientX, down = event.clientY - this.from.event.clientY;
    if (!this.from.moved && Math.hypot(across, down) < 5) return null;
    this.from.moved = true;
    tip.hide();
    const rows = across / this.over.clientWidth + down / this.pitch;
    this.view.move(this.from.start - rows * this.view.rowBytes);
    return this.draw();
  }

  #apart() {
    const [one, other] = [...this.pointers.values()];
    return Math.max(1, Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY));
  }

  #pinch(event) {
    this.from.moved = true;
    const wanted = Math.round(Math.log2(this.#apart() / this.from.apart) * 1.5);
    const done = Math.log2(this.from.rowBytes / this.view.rowBytes);
    if (wanted !== done) this.zoom(wanted - done, this.#rowAt(event));
  }

  #release(event) {
    if (!this.pointers.delete(event.pointerId) || this.pointers.size || this.from.moved) return;
    const tensor = this.file.tensors[this.#rangeAt(event).at] ?? -1;
    this.section.select(tensor >= 0 ? tensor : null, this);
  }

  /** The wheel zooms when the map has the focus, or with Ctrl, as pinching does; else the page scrolls. */
  #wheel(event) {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.over) return;
    if (!sideways && event.deltaY > 0 && this.view.isWhole && !event.ctrlKey) return;
    event.preventDefault();
    if (sideways) {
      const moved = (event.deltaX || event.deltaY) / this.over.clientWidth;
      this.view.move(this.view.start + moved * this.view.rowBytes);
      this.draw();
      return;
    }
    const notch = event.deltaMode === 0 ? (event.ctrlKey ? 20 : 60) : 1;
    this.turned = (Math.sign(this.turned ?? 0) === -Math.sign(event.deltaY) ? this.turned : 0) - event.deltaY / notch;
    const steps = Math.max(-2, Math.min(2, Math.trunc(this.turned)));
    this.turned -= Math.trunc(this.turned);
    if (steps) this.zoom(steps, this.#rowAt(event));
  }

  #key(event) {
    const { view } = this;
    const page = view.rowBytes * Math.max(1, Math.floor(view.rows / 2));
    const actions = {
      "+": () => this.zoom(1), "=": () => this.zoom(1), "-": () => this.zoom(-1),
      Escape: () => this.whole(), 0: () => this.whole(),
      ArrowUp: () => view.move(view.start - view.rowBytes), ArrowDown: () => view.move(view.start + view.rowBytes),
      PageUp: () => view.move(view.start - page), PageDown: () => view.move(view.start + page),
      Home: () => view.move(0), End: () => view.move(view.size),
      ArrowLeft: () => this.#step(-1), ArrowRight: () => this.#step(1),
      Enter: () => this.section.selected !== null && this.section.show(this.section.selected),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    this.draw();
  }

  /** Select the tensor before or after the selected one, or the first in view. */
  #step(by) {
    const { file, model } = this, { selected } = this.section;
    let at = selected === null ? -1 : file.tensors.indexOf(selected);
    if (at < 0 && selected !== null) at = file.tensors.indexOf(model.tiedWith(selected)[0]);
    if (at < 0) at = file.firstAfter(this.view.start) - (by > 0 ? 1 : 0);
    do at += by; while (at >= 0 && at < file.size && file.tensors[at] < 0);
    if (at >= 0 && at < file.size) this.section.select(file.tensors[at]);
  }
}
