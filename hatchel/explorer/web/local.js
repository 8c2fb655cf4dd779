// The page without a server: examples and decoders lie in its own folder, ONNX Runtime decodes in the browser.
// Everything comes as text in scripts, because a page opened from disk may not read other files.
"use strict";
window.hatchelLocal = (about) => {
  const packed = window.HATCHEL;
  async function unpack(text) {
    const letters = atob(text), zipped = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) zipped[i] = letters.charCodeAt(i);
    const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  function once(work) { let made; return () => (made ??= work()); }
  const runtime = once(async () => {
    const code = new Blob([await unpack(packed.module)], { type: "text/javascript" }), address = URL.createObjectURL(code);
    const ort = await import(address);
    URL.revokeObjectURL(address);
    ort.env.wasm.wasmBinary = (await unpack(packed.wasm)).buffer;
    ort.env.wasm.numThreads = 1; // more need headers that only a server can send
    ort.env.wasm.proxy = false;
    packed.wasm = packed.module = null;
    return ort;
  });
  const sessions = packed.models.map((levels) => levels.map((model) => once(async () => {
    const ort = await runtime();
    return ort.InferenceSession.create(await unpack(model), { executionProviders: ["wasm"] });
  })));
  const examples = once(async () => {
    const read = JSON.parse(new TextDecoder().decode(await unpack(packed.examples)));
    packed.examples = null;
    return read;
  });
  async function example(item) {
    const all = await examples();
    if (item >= all.length) throw new Error(`there is no item ${item}; this page has the items 0 to ${all.length - 1}`);
    return all[item];
  }
  let turn = Promise.resolve(); // a session runs one call at a time
  async function infer(run, level, codes) {
    const ort = await runtime(), session = await sessions[run][level](), width = about.runs[run].width;
    const z = new Float32Array(codes.length * width);
    codes.forEach((code, n) => z.set(code, n * width));
    const output = await session.run({ [session.inputNames[0]]: new ort.Tensor("float32", z, [codes.length, width]) });
    const { data, dims } = output[session.outputNames[0]];
    if (dims.length === 2) return codes.map((_, n) => Array.from(data.subarray(n * dims[1], (n + 1) * dims[1])));
    const [count, channels, height, wide] = dims, plane = height * wide, bytes = new Uint8Array(data.length);
    for (let n = 0; n < count; n++) for (let c = 0; c < channels; c++) for (let i = 0; i < plane; i++) {
      bytes[(n * plane + i) * channels + c] = Math.min(1, Math.max(0, data[(n * channels + c) * plane + i])) * 255 + 0.5;
    }
    return bytes;
  }
  return {
    pick: example,
    decode(run, level, codes) {
      const mine = turn.then(() => infer(run, level, codes));
      turn = mine.catch(() => {});
      return mine;
    },
    async scatter(run, level, columns) {
      const all = await examples();
      return columns.map((column) => all.map((e) => e.codes[run][level][column]));
    },
    async picture(item) {
      const [input] = (await example(item)).inputs;
      return typeof input === "string" ? Uint8Array.from(atob(input), (c) => c.charCodeAt(0)) : input;
    },
  };
};
