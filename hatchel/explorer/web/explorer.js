// The explorer's page: sliders that decode while they are dragged, traversals, a scatter of codes, swaps.
"use strict";
(() => {
const about = JSON.parse(document.getElementById("about").textContent);
const $ = (id) => document.getElementById(id);
const STRIPS = 10, SHOWN_COLUMNS = 60;
const HUES = ["#17788f", "#d98324", "#a3629e", "#5f9e4a", "#c44e52", "#5470c6", "#b0a030", "#8c6d5a", "#3aa6a0", "#94a0ad"];
const RAMP = ["#6a6fd8", "#2f8fc4", "#2fa58a", "#8db63c", "#e0a91b"];

// ---- where pictures come from: the server, or what lies in the page's own folder

// Inside another page, a notebook, browsers keep no cookie: the token stays in the frame's address.
const token = new URLSearchParams(location.search).get("token");
async function ask(what, body, type = "application/json") {
  let answer;
  const headers = { "Content-Type": type, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  try {
    answer = await fetch(`api/${what}`, { method: "POST", body, headers });
  } catch {
    throw new Error("the explorer does not answer; is it still running?");
  }
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `the explorer answered ${answer.status}`);
  return answer.headers.get("Content-Type").startsWith("application/json") ? answer.json() : new Uint8Array(await answer.arrayBuffer());
}
const server = {
  pick: (item) => ask("pick", JSON.stringify({ item })),
  upload: (file) => ask("upload", file, file.type || "application/octet-stream"),
  decode: (run, level, codes) => ask("decode", JSON.stringify({ run, level, codes })),
  scatter: (run, level, columns) => ask("scatter", JSON.stringify({ run, level, columns })),
  picture: (item) => ask("picture", JSON.stringify({ item })),
};
const source = window.hatchelLocal ? window.hatchelLocal(about) : server;

// ---- small things

function make(tag, { attributes = {}, ...fields } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), fields);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((c) => c !== null));
  return element;
}
function say(text) { $("message").textContent = text; $("message").hidden = !text; }
// How much is begun and not yet drawn; the page carries it, so that whoever looks from outside knows when to.
let pending = 0;
function working(by) { pending += by; document.body.dataset.pending = String(pending); }
function guarded(work) {
  return async (...given) => {
    working(1);
    try { await work(...given); } catch (error) { say(error.message); } finally { working(-1); }
  };
}
// One piece of work at a time; of what is asked for meanwhile only the newest is done, the rest is dropped.
function latest(work) {
  let busy = false, next = null;
  const all = guarded(async () => {
    busy = true;
    try {
      while (next) { const now = next; next = null; await work(() => next !== null, ...now); }
    } finally { busy = false; }
  });
  return (...given) => { next = given; if (!busy) all(); };
}
function later(work, wait) {
  let timer = null;
  const now = () => { timer = null; work(); working(-1); };
  return () => { if (timer === null) working(1); clearTimeout(timer); timer = setTimeout(now, wait); };
}
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const random = () => Math.floor(Math.random() * about.count);
const number = (value) => Number(value.toPrecision(4)).toString();
const pictured = (run) => run.shape.length === 3;
const title = (site) => (site.follows ? `${site.name} · ${site.follows}` : site.name);

function paint(canvas, pixels, shape, first = 0, count = 1, gap = 0) {
  const [channels, height, width] = shape;
  canvas.width = count * (width + gap) - gap;
  canvas.height = height;
  const context = canvas.getContext("2d"), image = new ImageData(width, height);
  for (let n = 0; n < count; n++) {
    let from = (first + n) * width * height * channels;
    for (let to = 0; to < image.data.length; to += 4, from += channels) {
      image.data[to] = pixels[from];
      image.data[to + 1] = pixels[channels < 3 ? from : from + 1];
      image.data[to + 2] = pixels[channels < 3 ? from : from + 2];
      image.data[to + 3] = 255;
    }
    context.putImageData(image, n * (width + gap), 0);
  }
}
function figure(caption) {
  const canvas = make("canvas", { className: "picture", attributes: { role: "img", "aria-label": caption } });
  return { canvas, element: make("figure", {}, canvas, make("figcaption", { textContent: caption })) };
}

// ---- rows of a table

function cells(run, row) {
  if (!row) return [];
  if (!run.columns.length) return row.map((value, i) => [`x${i}`, number(value)]);
  let at = 0;
  return run.columns.map((column) => {
    const values = row.slice(at, (at += column.width));
    if (column.kind === "gaussian") return [column.name, number(values[0])];
    const chances = column.kind === "bernoulli" ? [1 - values[0], values[0]] : values;
    const best = chances.indexOf(Math.max(...chances));
    return [column.name, `${column.values[best] ?? best} (${Math.round(100 * chances[best])} %)`];
  });
}
function tabulate(place, run, rows) {
  const columns = Object.entries(rows).map(([name, row]) => [name, cells(run, row)]);
  const all = columns[0][1].length, shown = Math.min(all, SHOWN_COLUMNS);
  const head = make("tr", {}, make("th", { scope: "col", textContent: "column" }), ...columns.map(([name]) => make("th", { scope: "col", textContent: name })));
  const body = Array.from({ length: shown }, (_, i) =>
    make("tr", {}, make("th", { scope: "row", textContent: columns[0][1][i][0] }), ...columns.map(([, c]) => make("td", { textContent: c[i] ? c[i][1] : "" }))));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  const rest = all > shown ? make("p", { className: "quiet", textContent: `The first ${shown} of ${all} columns.` }) : null;
  place.replaceChildren(table, ...(rest ? [rest] : []));
}

// ---- one latent site: a slider, or a row of choices

function slider(site, id, moved) {
  const column = site.columns[0];
  const range = make("input", { type: "range", id });
  const exact = make("input", { type: "number", step: "any", attributes: { "aria-label": `${site.name}, exact value` } });
  range.addEventListener("input", () => { exact.value = (+range.value).toFixed(3); moved(column, +range.value); });
  exact.addEventListener("change", () => {
    if (exact.value === "" || !Number.isFinite(+exact.value)) return say(`${site.name}: give a number`);
    moved(column, +exact.value);
    fit(+exact.value);
  });
  function fit(value) {
    range.min = Math.min(site.low, value);
    range.max = Math.max(site.high, value);
    range.step = (range.max - range.min) / 200 * (1 - 1e-12);  // rounded up, the last step would lie beyond the end
    range.value = value;
  }
  return {
    element: make("div", { className: "row" }, range, exact),
    show(code) { fit(code[column]); exact.value = code[column].toFixed(3); },
  };
}
function choices(site, id, chosen) {
  const buttons = site.columns.map((_, k) =>
    make("button", { type: "button", textContent: String(k), attributes: { role: "radio", "aria-label": `${site.name} ${k}` } }));
  const note = make("span", { className: "quiet" });
  function choose(k, focus) {
    chosen(site.columns, k);
    if (focus) buttons[k].focus();
  }
  buttons.forEach((button, k) => {
    button.addEventListener("click", () => choose(k));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose((k + step + buttons.length) % buttons.length, true);
    });
  });
  return {
    element: make("div", { className: "choices", attributes: { role: "radiogroup", "aria-labelledby": id } }, ...buttons, note),
    show(code) {
      const chances = site.columns.map((c) => code[c]), best = chances.indexOf(Math.max(...chances));
      buttons.forEach((b, k) => { b.setAttribute("aria-checked", String(k === best)); b.tabIndex = k === best ? 0 : -1; });
      note.textContent = chances[best] > 0.995 ? "" : `probability ${chances[best].toFixed(2)}, as encoded`;
    },
  };
}

// ---- one run: its pictures and its controls

function bench(run, index) {
  const self = { run, index, level: 0, code: [], encoded: [], controls: [] };
  const head = make("div", { className: "head" });
  const controls = make("div");
  const view = make("div", { className: pictured(run) ? "view" : "view text" });
  const decoded = figure("decoded"), input = figure("input"), rows = make("div", { className: "rows" });
  view.append(...(pictured(run) ? [decoded.element, input.element] : [rows]));
  decoded.canvas.id = `decoded-${index}`;
  input.canvas.id = `input-${index}`;
  if (about.runs.length > 1) head.append(make("h2", { textContent: run.name }));
  if (run.levels.length > 1) {
    const level = make("select", { id: `level-${index}` }, ...run.levels.map((_, i) => make("option", { value: i, textContent: `level ${i}` })));
    level.addEventListener("change", () => { self.level = +level.value; self.build(); self.reset(); fillSelectors(); });
    head.append(make("label", { className: "field" }, make("span", { textContent: "Latent space" }), level));
  }
  self.element = make("section", { className: "card bench", attributes: { "aria-label": `Latents of ${run.name}` } }, head, view, controls);
  self.sites = () => run.levels[self.level];
  self.redraw = latest(async () => {
    const frame = await source.decode(index, self.level, [self.code]);
    if (pictured(run)) paint(decoded.canvas, frame, run.shape);
    else tabulate(rows, run, { input: self.row, decoded: frame[0] });
    self.element.dataset.drawn = String(1 + +(self.element.dataset.drawn || 0));
    say("");
    refreshStrips();
    refreshSwap();
    refreshScatter();
  });
  self.change = () => { self.controls.forEach((c) => c.show(self.code)); self.redraw(); };
  self.reset = () => { self.code = self.encoded[self.level].slice(); self.change(); };
  self.receive = (picked) => {
    self.encoded = picked.codes[index];
    if (pictured(run)) paint(input.canvas, bytes(picked.inputs[index]), run.shape);
    else self.row = picked.inputs[index];
    self.reset();
  };
  self.build = () => {
    const most = Math.max(...self.sites().map((s) => s.information), 0.05);
    self.controls = [];
    const rowOf = (site, n) => {
      const id = `site-${index}-${n}`;
      const control = site.columns.length === 1
        ? slider(site, id, (column, value) => { self.code[column] = value; self.redraw(); })
        : choices(site, id, (columns, k) => { columns.forEach((c, i) => { self.code[c] = i === k ? 1 : 0; }); self.change(); });
      self.controls.push(control);
      const bar = make("b");
      bar.style.width = `${Math.max(0, 100 * site.information / most)}%`;
      const name = site.columns.length === 1 ? make("label", { htmlFor: id }) : make("span", { className: "name", id });
      name.append(site.name, site.follows ? make("span", { className: "chip", textContent: ` ${site.follows}` }) : "");
      const nats = make("span", { className: "nats", title: "I(x; z), what this latent says about the input" }, make("i", {}, bar), `${Math.max(0, site.information).toFixed(2)} nats`);
      return make("div", { className: "site" }, name, nats, control.element);
    };
    const speaking = self.sites().filter((s) => s.active), silent = self.sites().filter((s) => !s.active);
    controls.replaceChildren(...speaking.map(rowOf));
    if (!silent.length) return;
    const more = make("details", {}, make("summary", { textContent: `${silent.length} ${silent.length > 1 ? "latents" : "latent"} with less than 0.05 nats` }));
    // Made when first opened: there may be a thousand of them.
    more.addEventListener("toggle", () => {
      if (more.children.length > 1) return;
      const from = self.controls.length;
      more.append(...silent.map((site, n) => rowOf(site, speaking.length + n)));
      if (self.code.length) self.controls.slice(from).forEach((c) => c.show(self.code));
    });
    if (!speaking.length) more.open = true;
    controls.append(more);
  };
  self.build();
  return self;
}
const benches = about.runs.map(bench);

// ---- the input

let current = null, other = null;
async function receive(picked) {
  current = picked;
  $("item").value = picked.item ?? "";
  const parts = Object.entries(picked.shown).map(([name, value]) => `${name} ${value}`);
  $("shown").textContent = picked.item === null ? "Your image, as the encoder reads it." : parts.join(" · ");
  $("shown").hidden = !$("shown").textContent;
  benches.forEach((b) => b.receive(picked));
}
const pick = latest(async (_, item) => receive(await source.pick(item)));
const step = (by) => pick(current && current.item !== null ? (current.item + by + about.count) % about.count : about.start);
function asked(field, act) {
  const value = Number(field.value);
  if (field.value === "" || !Number.isInteger(value) || value < 0) say("Item: give a whole number from 0");
  else act(value);
}
const uploaded = (act) => guarded(async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (file) await act(await source.upload(file));
});

// ---- traversals

const strips = [];
function buildStrips() {
  const b = benches[+$("grid-run").value];
  strips.length = 0;
  const columns = window.innerWidth < 600 ? 7 : 11;
  b.sites().filter((s, n) => s.active || n < 3).slice(0, STRIPS).forEach((site) => {
    const count = site.columns.length > 1 ? Math.min(site.columns.length, 12) : columns;
    const values = Array.from({ length: count }, (_, i) => (site.columns.length > 1 ? i : site.low + (site.high - site.low) * i / (count - 1)));
    const [, height, width] = b.run.shape;
    const canvas = make("canvas", { width: count * width, height, attributes: { role: "img", "aria-label": `${title(site)} moved over its range` } });
    const move = (code, value) => site.columns.forEach((c, i) => { code[c] = site.columns.length > 1 ? +(i === value) : value; });
    canvas.addEventListener("click", (event) => {
      move(b.code, values[Math.min(count - 1, Math.floor(event.offsetX / canvas.clientWidth * count))]);
      b.change();
    });
    const name = make("div", { className: "name" }, site.name, site.follows ? make("span", { className: "chip", textContent: site.follows }) : "");
    strips.push({ canvas, values, move, count, element: make("div", { className: "strip" }, name, canvas) });
  });
  $("grid").replaceChildren(...strips.map((s) => s.element));
}
const drawStrips = latest(async (stale) => {
  const b = benches[+$("grid-run").value];
  if (!b.code.length) return;
  for (const strip of strips.slice()) {
    if (stale()) return;
    const codes = strip.values.map((value) => { const code = b.code.slice(); strip.move(code, value); return code; });
    paint(strip.canvas, await source.decode(b.index, b.level, codes), b.run.shape, 0, strip.count, Math.max(1, b.run.shape[2] >> 4));
    strip.canvas.dataset.drawn = "1";
  }
});
const refreshStrips = later(() => pictured(benches[0].run) && drawStrips(), 120);

// ---- swap

const four = ["A", "B", "A with B's", "B with A's"].map((caption) => figure(caption));
const drawSwap = latest(async () => {
  if (!other || !current) return;
  const b = benches[+$("swap-run").value], site = b.sites()[+$("swap-site").value];
  const second = other.codes[b.index][b.level];
  const mixed = [b.code.slice(), second.slice()];
  site.columns.forEach((c) => { mixed[0][c] = second[c]; mixed[1][c] = b.code[c]; });
  const frames = await source.decode(b.index, b.level, [b.code, second, ...mixed]);
  const labels = ["A, as the sliders are", other.item === null ? "B, your image" : `B, item ${other.item}`, `A with B's ${site.name}`, `B with A's ${site.name}`];
  if (!pictured(b.run)) return tabulate($("swapped"), b.run, Object.fromEntries(labels.map((label, n) => [label, frames[n]])));
  four.forEach((f, n) => {
    f.element.lastChild.textContent = labels[n];
    f.canvas.setAttribute("aria-label", labels[n]);
    paint(f.canvas, frames, b.run.shape, n);
  });
});
const refreshSwap = later(drawSwap, 60);
function receiveOther(picked) { other = picked; $("other").value = picked.item ?? ""; drawSwap(); }
const pickOther = latest(async (_, item) => receiveOther(await source.pick(item)));

// ---- scatter

let points = null, hovered = -1;
const thumbnails = new Map();
function colourOf(factor, value) {
  const last = factor.values.length - 1;
  if (factor.kind === "cyclic") return `hsl(${360 * value / (last + 1)} 55% 52%)`;
  if (factor.kind === "discrete" && last < HUES.length) return HUES[value];
  const at = (last ? value / last : 0) * (RAMP.length - 1), low = Math.min(RAMP.length - 2, Math.floor(at));
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(part(RAMP[low], i) + (at - low) * (part(RAMP[low + 1], i) - part(RAMP[low], i)))).join(" ")})`;
}
const loadScatter = latest(async () => {
  const b = benches[+$("scatter-run").value];
  const pairs = [["x", $("scatter-x").value], ["y", $("scatter-y").value]];
  const [x, y] = await source.scatter(b.index, b.level, pairs.map(([, c]) => +c));
  points = { x, y, bench: b, columns: pairs.map(([, c]) => +c) };
  drawScatter();
});
function spanOf(values) {
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * 0.04;
  return [low - room, high + room];
}
function drawScatter() {
  const canvas = $("scatter");
  if (!points || !canvas.clientWidth) return;
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d"), style = getComputedStyle(document.body);
  context.scale(ratio, ratio);
  const [x0, x1] = spanOf(points.x), [y0, y1] = spanOf(points.y);
  const left = 40, bottom = 26, across = (v) => left + (v - x0) / (x1 - x0) * (width - left - 10), up = (v) => height - bottom - (v - y0) / (y1 - y0) * (height - bottom - 10);
  points.places = points.x.map((v, i) => [across(v), up(points.y[i])]);
  context.font = `11px ${style.fontFamily}`;
  context.fillStyle = style.getPropertyValue("--quiet");
  context.strokeStyle = style.getPropertyValue("--line");
  const ticks = (low, high) => {
    const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough)), gap = [1, 2, 5, 10].map((m) => m * unit).find((g) => g >= rough);
    const first = Math.ceil(low / gap);
    return Array.from({ length: Math.floor(high / gap) - first + 1 }, (_, i) => (first + i) * gap);
  };
  const line = (...ends) => { context.beginPath(); context.moveTo(ends[0], ends[1]); context.lineTo(ends[2], ends[3]); context.stroke(); };
  context.textAlign = "center";
  ticks(x0, x1).forEach((t) => { line(across(t), 8, across(t), height - bottom); context.fillText(number(t), across(t), height - bottom + 15); });
  context.textAlign = "right";
  ticks(y0, y1).forEach((t) => { line(left, up(t), width - 8, up(t)); context.fillText(number(t), left - 6, up(t) + 4); });
  const factor = about.factors[+$("scatter-colour").value];
  points.places.forEach(([x, y], i) => {
    context.globalAlpha = 0.75;
    context.fillStyle = factor ? colourOf(factor, factor.of[i]) : style.getPropertyValue("--accent");
    context.beginPath();
    context.arc(x, y, 2.8, 0, 7);
    context.fill();
  });
  context.globalAlpha = 1;
  const ring = (x, y, colour) => { context.beginPath(); context.arc(x, y, 6, 0, 7); context.lineWidth = 2; context.strokeStyle = colour; context.stroke(); };
  const code = points.bench.code;
  if (code.length) {
    const [x, y] = [across(code[points.columns[0]]), up(code[points.columns[1]])];
    ring(x, y, style.getPropertyValue("--ink"));
  }
  if (hovered >= 0) ring(...points.places[hovered], style.getPropertyValue("--accent"));
  legend(factor);
}
const refreshScatter = later(drawScatter, 60);
function legend(factor) {
  const place = $("legend");
  const key = `${factor ? factor.name : ""}`;
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  place.replaceChildren();
  if (!factor) return;
  const last = factor.values.length - 1;
  place.append(make("b", { textContent: factor.name }));
  if (factor.kind === "discrete" && last < HUES.length) {
    factor.values.forEach((value, k) => { const dot = make("i"); dot.style.background = colourOf(factor, k); place.append(make("span", {}, dot, value)); });
    return;
  }
  const ramp = make("canvas", { width: last + 1, height: 1 }), context = ramp.getContext("2d");
  factor.values.forEach((_, k) => { context.fillStyle = colourOf(factor, k); context.fillRect(k, 0, 1, 1); });
  place.append(make("span", { textContent: factor.values[0] }), ramp, make("span", { textContent: factor.values[last] }));
}
const showTip = latest(async (stale, i) => {
  const tip = $("tip"), item = about.points[i];
  if (!thumbnails.has(item)) thumbnails.set(item, await source.picture(item));
  if (stale() || hovered !== i) return;
  const run = about.runs[0], canvas = tip.querySelector("canvas"), factor = about.factors[+$("scatter-colour").value];
  canvas.hidden = !pictured(run);
  if (pictured(run)) paint(canvas, thumbnails.get(item), run.shape);
  const text = `item ${item}${factor ? `, ${factor.name} ${factor.values[factor.of[i]]}` : ""}`;
  tip.querySelector("span").textContent = text;
  $("scatter").setAttribute("aria-label", `Codes of items; at ${text}`);
  tip.hidden = false;
  const [x, y] = points.places[i], plot = $("plot");
  tip.style.left = `${Math.max(0, Math.min(plot.clientWidth - tip.offsetWidth, x + 14))}px`;
  tip.style.top = `${Math.max(0, Math.min(plot.clientHeight - tip.offsetHeight, y - tip.offsetHeight - 10))}px`;
});
function hover(i) {
  if (i === hovered) return;
  hovered = i;
  drawScatter();
  if (i < 0) $("tip").hidden = true; else showTip(i);
}
function nearest(x, y, within) {
  let best = -1, least = within ** 2;
  points?.places?.forEach(([px, py], i) => { const d = (px - x) ** 2 + (py - y) ** 2; if (d < least) { least = d; best = i; } });
  return best;
}
function arrow(dx, dy) {
  if (hovered < 0) return hover(nearest(points.places[0][0], points.places[0][1], 1e9));
  const [x, y] = points.places[hovered];
  let best = -1, least = Infinity;
  points.places.forEach(([px, py], i) => {
    const along = (px - x) * dx + (py - y) * dy, aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
    if (i !== hovered && along > 0.5 && along + 2 * aside < least) { least = along + 2 * aside; best = i; }
  });
  if (best >= 0) hover(best);
}

// ---- selectors and wiring

function fill(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => make("option", { value, textContent: text })));
  if (chosen !== undefined && entries.some(([value]) => String(value) === String(chosen))) select.value = chosen;
}
function fillSelectors() {
  const b = benches[+$("scatter-run").value], real = b.sites().filter((s) => s.columns.length === 1);
  const entries = real.map((s) => [s.columns[0], title(s)]);
  fill($("scatter-x"), entries);
  fill($("scatter-y"), entries, entries[Math.min(1, entries.length - 1)]?.[0]);
  $("axes").parentElement.hidden = !real.length;
  if (real.length) loadScatter();
  const s = benches[+$("swap-run").value];
  fill($("swap-site"), s.sites().map((site, n) => [n, title(site)]));
  $("swapped").className = pictured(s.run) ? "four" : "rows";
  if (pictured(s.run)) {
    $("swapped").replaceChildren(...four.map((f) => f.element));
    buildStrips();
  }
  refreshStrips();
  drawSwap();
}
document.body.classList.toggle("two", benches.length > 1);
$("benches").append(...benches.map((b) => b.element));
document.querySelectorAll(".of-run").forEach((field) => { field.hidden = benches.length < 2; });
["grid-run", "scatter-run", "swap-run"].forEach((id) => {
  fill($(id), about.runs.map((run, n) => [n, run.name]));
  $(id).addEventListener("change", fillSelectors);
});
const followed = benches[0].sites().map((s) => about.factors.findIndex((f) => f.name === s.follows)).find((n) => n >= 0);
fill($("scatter-colour"), about.factors.map((f, n) => [n, f.name]), followed);
$("colour-field").hidden = !about.factors.length;
$("grid").parentElement.hidden = !pictured(about.runs[0]);
$("upload-label").hidden = $("other-upload-label").hidden = !source.upload || !about.runs.every(pictured);
$("count").textContent = `of ${about.count.toLocaleString("en")} ${about.among}`;
$("points").textContent = about.points.length.toLocaleString("en");
$("item").max = $("other").max = about.count - 1;
$("main").hidden = false;

$("item").addEventListener("change", () => asked($("item"), pick));
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
$("random").addEventListener("click", () => pick(random()));
$("upload").addEventListener("change", uploaded(receive));
$("reset").addEventListener("click", () => benches.forEach((b) => b.reset()));
$("other").addEventListener("change", () => asked($("other"), pickOther));
$("other-random").addEventListener("click", () => pickOther(random()));
$("other-upload").addEventListener("change", uploaded(receiveOther));
$("swap-site").addEventListener("change", drawSwap);
$("take").addEventListener("click", () => {
  const b = benches[+$("swap-run").value];
  if (!other) return;
  b.sites()[+$("swap-site").value].columns.forEach((c) => { b.code[c] = other.codes[b.index][b.level][c]; });
  b.change();
});
["scatter-x", "scatter-y"].forEach((id) => $(id).addEventListener("change", loadScatter));
$("scatter-colour").addEventListener("change", drawScatter);
$("scatter").addEventListener("pointermove", (event) => hover(nearest(event.offsetX, event.offsetY, 14)));
$("scatter").addEventListener("pointerleave", () => hover(-1));
$("scatter").addEventListener("blur", () => hover(-1));
$("scatter").addEventListener("click", (event) => { const i = nearest(event.offsetX, event.offsetY, 14); if (i >= 0) pick(about.points[i]); });
$("scatter").addEventListener("keydown", (event) => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (way && points) { event.preventDefault(); arrow(...way); }
  if (event.key === "Enter" && hovered >= 0) pick(about.points[hovered]);
  if (event.key === "Escape") hover(-1);
});
window.addEventListener("resize", later(() => { drawScatter(); if (pictured(about.runs[0])) buildStrips(); refreshStrips(); }, 150));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawScatter);

pick(about.start);
pickOther(random());
fillSelectors();
})();
