/* Which bytes of a file a map shows, and how they are painted. Rows are read like lines of text;
   a row is a power of two bytes, so that what is aligned stands in columns. */

const FINEST = 64; // bytes in a row
const BOUNDARIES = [64, 256, 4096, 16384, 65536];
const FEWEST = 9; // letters of a name that still say something
const FONT = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

class View {
  constructor(size) {
    this.size = size;
    this.start = 0;
    this.rowBytes = 0;
  }

  /** Show all of the file in at most this many rows; keep what is shown where it was zoomed. */
  fit(mostRows) {
    const zoomed = this.rowBytes && this.rowBytes < this.whole;
    this.whole = FINEST;
    while (this.whole * mostRows < this.size) this.whole *= 2;
    this.rows = Math.max(1, Math.ceil(this.size / this.whole));
    this.move(zoomed ? this.start : 0, zoomed ? Math.min(this.rowBytes, this.whole) : this.whole);
  }

  get span() { return this.rows * this.rowBytes; }
  get end() { return Math.min(this.size, this.start + this.span); }
  get isWhole() { return this.rowBytes === this.whole; }

  move(start, rowBytes = this.rowBytes) {
    this.rowBytes = Math.min(this.whole, Math.max(FINEST, rowBytes));
    const grain = Math.max(1, this.rowBytes / 256); // so that starts are round numbers in hex
    const last = Math.max(0, Math.ceil((this.size - this.span) / grain) * grain);
    this.start = Math.min(last, Math.max(0, Math.round(start / grain) * grain));
  }

  /** Zoom by powers of two; what lies at `row`, counted with its fraction, stays there. */
  zoom(steps, row = this.rows / 2) {
    const byte = this.start + row * this.rowBytes;
    const rowBytes = Math.min(this.whole, Math.max(FINEST, this.rowBytes / 2 ** steps));
    this.move(byte - row * rowBytes, rowBytes);
  }

  /** Bring a range into view as it is zoomed. */
  reveal(offset, length) {
    if (offset >= this.start && offset < this.end) return;
    this.centre(offset, length);
  }

  /** Zoom to a range: it takes about half of the rows. */
  frame(offset, length) {
    let rowBytes = FINEST;
    while (rowBytes < this.whole && (rowBytes * this.rows) / 2 < length) rowBytes *= 2;
    this.move(0, rowBytes);
    this.centre(offset, length);
  }

  centre(offset, length) {
    const before = Math.floor((this.rows - Math.min(this.rows, length / this.rowBytes)) / 2);
    this.move(offset - before * this.rowBytes);
  }
}

/** Colours of the theme, as the style has them: read once, and again when the theme changes. */
class Paint {
  constructor() {
    const probe = document.body.appendChild(make("i", { hidden: true }));
    const read = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    this.tones = [0, 1, 2, 3, 4, 5, 6].map((at) => read(`tone-${at}`));
    this.steps = [0, 1, 2, 3, 4].map((at) => read(`step-${at}`));
    for (const name of ["paper", "ink", "accent", "padding", "dead", "header", "grid"]) {
      this[name] = read(name);
    }
    probe.remove();
    this.patterns = new Map();
    this.inks = new Map();
  }

  /** Stripes: padding rises, dead bytes fall, on a ground of their own. */
  stripes(kind, ratio) {
    const key = `${kind} ${ratio}`;
    if (!this.patterns.has(key)) this.patterns.set(key, this.#stripes(kind, Math.round(6 * ratio)));
    return this.patterns.get(key);
  }

  #stripes(kind, side) {
    const tile = make("canvas", { width: side, height: side });
    const pen = tile.getContext("2d");
    pen.fillStyle = kind === DEAD ? this.dead : this.paper;
    pen.fillRect(0, 0, side, side);
    pen.strokeStyle = kind === DEAD ? this.paper : this.padding;
    pen.lineWidth = side / 6;
    for (const shift of [-side, 0, side]) {
      pen.moveTo(shift, kind === DEAD ? 0 : side);
      pen.lineTo(shift + side, kind === DEAD ? side : 0);
    }
    pen.stroke();
    return pen.createPattern(tile, "repeat");
  }

  /** Black or white, whichever reads better on a colour. */
  inkOn(colour) {
    if (!this.inks.has(colour)) {
      const [red, green, blue] = colour.match(/[\d.]+/g).map((one) => (Number(one) / 255) ** 2.2);
      const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      this.inks.set(colour, light > 0.18 ? "#000" : "#fff");
    }
    return this.inks.get(colour);
  }
}

const OTHERS = [[PADDING, "padding", "padding"], [DEAD, "dead", "dead bytes"], [HEADER, "header", "header"]];

/** What a tensor's colour may stand for: a name for each, and which one a tensor has. */
const SIZES = [1024, 65536, 1048576, 16777216];
const STARTS = [64, 256, 4096, 65536];
const COLOURS = {
  dtype: {
    of: (model, at, paint) => paint.tones[Math.min(6, model.tone(at))],
    legend: ({ columns }) => {
      const { words } = columns.dtypes, known = words.slice(0, 6).map((word, at) => [`tone-${at}`, word]);
      return words.length > 6 ? [...known, ["tone-6", "others"]] : known;
    },
  },
  size: {
    of: (model, at, paint) => paint.steps[stepOf(SIZES, Number(model.length(at)))],
    legend: () => stepNames(SIZES),
  },
  alignment: {
    of: (model, at, paint) => paint.steps[stepOf(STARTS, model.alignment(at))],
    legend: () => stepNames(STARTS),
  },
};

const stepOf = (limits, value) => limits.filter((limit) => value >= limit).length;
const stepNames = (limits) => [
  ["step-0", `below ${boundaryWords(limits[0])}`],
  ...limits.map((limit, at) => [`step-${at + 1}`, `from ${boundaryWords(limit)}`]),
];

/** Paints bytes of a file along a strip of a canvas. Lengths are device pixels. */
class Painter {
  constructor(model, file, paint, ratio, colour) {
    Object.assign(this, { model, file, paint, ratio });
    this.colourOf = (tensor) => COLOURS[colour].of(model, tensor, paint);
  }

  /**
   * Paint [from, from + bytes) into a strip `width` wide; what is narrower than a pixel goes to the
   * speck of its pixel. Return the blocks that there is room to name.
   */
  strip(pen, { from, bytes, width, top, height }) {
    Object.assign(this, { pen, top, height });
    const scale = width / bytes, narrow = 2 * this.ratio, always = [], named = [];
    const speck = { pixel: -1, covered: 0, widest: 0, at: -1 };
    const flush = () => {
      if (speck.covered >= 0.5) this.#block(speck.at, speck.pixel, speck.pixel + 1);
      Object.assign(speck, { pixel: -1, covered: 0, widest: 0 });
    };
    this.file.within(from, Math.min(from + bytes, this.file.bytes), (at) => {
      const left = Math.max(0, (this.file.starts[at] - from) * scale);
      const right = Math.min(width, (this.file.ends[at] - from) * scale);
      if (right - left < narrow && this.#isAlwaysSeen(at)) always.push([at, Math.floor(left)]);
      if (Math.round(right) > Math.round(left)) {
        flush();
        this.#block(at, Math.round(left), Math.round(right), this.file.ends[at] <= from + bytes);
        if (right - left > 40 * this.ratio) named.push({ at, left, right, starts: this.file.starts[at] >= from });
        return;
      }
      if (speck.pixel !== Math.floor(left)) flush();
      speck.pixel = Math.floor(left);
      speck.covered += right - left;
      if (right - left >= speck.widest) [speck.widest, speck.at] = [right - left, at];
    });
    flush();
    for (const [at, left] of always) this.#block(at, left, left + Math.ceil(narrow));
    return named;
  }

  /** Dead bytes are, however few, and so is what lies lost behind them. */
  #isAlwaysSeen(at) {
    const { kinds } = this.file;
    return kinds[at] === DEAD || (at > 0 && kinds[at] === TENSOR && kinds[at - 1] === DEAD);
  }

  /** Paint a block; where there is room, a hairline at its end parts it from the next one. */
  #block(at, left, right, ends = false) {
    const part = ends && right - left >= 4 * this.ratio ? Math.round(this.ratio) : 0;
    const lower = this.file.lane[at] ? Math.floor(this.height / 2) : 0;
    this.pen.fillStyle = this.fillOf(at);
    this.pen.fillRect(left, this.top + lower, right - left - part, this.height - lower);
    if (lower) {
      this.pen.fillStyle = this.paint.dead; // they share bytes
      this.pen.fillRect(left, this.top + lower, right - left, Math.round(2 * this.ratio));
    }
  }

  fillOf(at) {
    const kind = this.file.kinds[at];
    if (kind === TENSOR) return this.colourOf(this.file.tensors[at]);
    return kind === HEADER ? this.paint.header : this.paint.stripes(kind, this.ratio);
  }

  /** Write a block's name into it. */
  name(pen, { at, left, right }, top, height) {
    const kind = this.file.kinds[at], room = right - left - 10 * this.ratio;
    if (this.file.lane[at] || kind === PADDING || kind === DEAD) return;
    pen.font = `${11 * this.ratio}px ${FONT}`;
    pen.textBaseline = "middle";
    this.letter ??= pen.measureText("0").width;
    const name = kind === HEADER ? this.file.head : this.model.name(this.file.tensors[at]);
    const letters = Math.floor(room / this.letter);
    if (letters < Math.min(name.length, FEWEST)) return;
    pen.fillStyle = this.paint.inkOn(this.fillOf(at));
    pen.fillText(shortened(name, letters), left + 5 * this.ratio, top + height / 2, room);
  }
}
