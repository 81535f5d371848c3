/* How numbers are said, and how elements are made. Texts only ever become text nodes. */

const UNITS = ["KiB", "MiB", "GiB", "TiB"];

/** A number of bytes in the binary unit in which it reads best; a text where it is too large. */
function sizeWords(bytes) {
  if (bytes === null) return "unknown";
  let value = Number(bytes);
  if (value < 1024) return `${value} B`;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1023.95 && unit < 3);
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}

/** A power of two without decimals: `64 KiB`. */
const boundaryWords = (bytes) => sizeWords(bytes).replace(".0 ", " ");

const alignmentWords = (bytes) => (bytes === COARSEST ? "≥ " : "") + boundaryWords(bytes);
const count = (number) => BigInt(number).toLocaleString("en-US");
const exactly = (bytes) => (bytes === null ? "unknown" : `${count(bytes)} bytes`);
const hex = (number) => `0x${BigInt(number).toString(16)}`;
const shapeWords = (shape) => (shape === "" ? "scalar" : shape.replaceAll("x", " × "));

/** Make an element: `make("td", {class: "number"}, "12", another)`. */
function make(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...inside.filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

/** Make a button; a sign is read as what it does, words are read as they are. */
const button = (text, does, onclick) => {
  const made = make("button", { type: "button", title: does, "aria-label": text.length > 1 ? null : does }, text);
  made.addEventListener("click", onclick);
  return made;
};

/** The end of a long name says more than its start. */
const shortened = (text, most) => (text.length <= most ? text : `…${text.slice(text.length - most + 1)}`);
