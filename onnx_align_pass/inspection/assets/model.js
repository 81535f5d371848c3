/* A model's tensors and files, from the columns that page_columns.py made. Sizes are bytes. */

const COARSEST = 65536;
const TENSOR = 0, PADDING = 1, DEAD = 2, HEADER = 3;

/** The largest power of two, up to 64 KiB, that an offset is a multiple of. */
function alignmentOf(offset) {
  if (offset === null) return null;
  const rest = BigInt(offset) % BigInt(COARSEST);
  return rest === 0n ? COARSEST : Number(rest & -rest);
}

class Model {
  constructor(columns) {
    this.columns = columns;
    this.size = columns.names.length;
    this.files = columns.files.map((file) => new DataFile(file));
    this.groups = new Map(); // the first of tied tensors, to all of them
    for (const [at, first] of Object.entries(columns.tied)) {
      if (!this.groups.has(first)) this.groups.set(first, [first]);
      this.groups.get(first).push(Number(at));
    }
    this.copies = new Set([...Object.keys(columns.same).map(Number), ...Object.values(columns.same)]);
  }

  name(at) { return this.columns.names[at]; }
  word(column, at) { return this.columns[column].words[this.columns[column].of[at]]; }
  dtype(at) { return this.word("dtypes", at); }
  tone(at) { return this.columns.dtypes.of[at]; }
  shape(at) { return shapeWords(this.word("shapes", at)); }
  bytes(at) { return this.columns.bytes[at]; }
  home(at) { return this.columns.homes[at]; }
  fileName(at) { return this.files[this.home(at)]?.name ?? ""; }
  offset(at) { return this.columns.offsets[at]; }
  length(at) { return this.columns.lengths[at] ?? this.bytes(at); }
  alignment(at) { return alignmentOf(this.offset(at)); }
  place(at) {
    return this.word("places", at).replace("#", () => this.columns.numbers[at] ?? "#");
  }

  /** All tensors that have the same range; this one alone where it is not tied. */
  tiedWith(at) { return this.groups.get(this.columns.tied[at] ?? at) ?? [at]; }
  findings(at) { return (this.columns.found[at] ?? []).map((one) => this.columns.findings[one]); }

  /** What is to be said of a tensor beside its numbers, in single words. */
  remarks(at) {
    const said = [];
    const tied = this.tiedWith(at).length;
    if (tied > 1) said.push(`tied ×${tied}`);
    if (this.copies.has(at)) said.push("duplicate");
    if (this.isInline(at)) said.push("inline");
    for (const severity of ["error", "warning"]) {
      if (this.findings(at).some((one) => one.severity === severity)) said.push(severity);
    }
    return said;
  }

  /** Whether its bytes are in the .onnx, and not just in no file for what is wrong with it. */
  isInline(at) {
    return this.home(at) < 0 && !this.findings(at).some((one) => one.severity === "error");
  }
}

/** The ranges of a file, ascending by start; those of overlapping tensors overlap. */
class DataFile {
  constructor({ name, bytes, format, kinds, spans, jumps, tensors }) {
    this.name = name;
    this.bytes = bytes;
    this.head = format === "safetensors" ? "header of the safetensors file" : "the model itself";
    this.size = spans.length;
    this.starts = new Float64Array(this.size);
    this.ends = new Float64Array(this.size);
    this.reach = new Float64Array(this.size); // the furthest end so far
    this.kinds = new Uint8Array(this.size);
    this.tensors = new Int32Array(this.size).fill(-1);
    this.lane = new Uint8Array(this.size); // 1: it overlaps what lies before it
    let end = 0, furthest = 0, next = 0;
    for (let at = 0; at < this.size; at += 1) {
      const start = end + (jumps[at] ?? 0);
      end = start + spans[at];
      this.kinds[at] = "tpdh".indexOf(kinds[at]);
      if (this.kinds[at] === TENSOR) this.tensors[at] = tensors[next++];
      const tied = at > 0 && this.starts[at - 1] === start && this.ends[at - 1] === end;
      this.lane[at] = tied ? this.lane[at - 1] : Number(start < furthest && end > start);
      furthest = Math.max(furthest, end);
      [this.starts[at], this.ends[at], this.reach[at]] = [start, end, furthest];
    }
  }

  /** The first range that may hold bytes at or after an offset. */
  firstAfter(offset) {
    let low = 0, high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.reach[middle] > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Call back with each range that shares bytes with [start, end). */
  within(start, end, each) {
    for (let at = this.firstAfter(start); at < this.size && this.starts[at] < end; at += 1) {
      if (this.ends[at] > start) each(at);
    }
  }
}
