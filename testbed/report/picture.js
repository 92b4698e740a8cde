"use strict";
/* The time-sequence picture: zoom, hover, step from packet to packet, switch variants.
 *
 * testbed/report/live.py writes the data, uPlot draws axes and knows scales; bars and
 * lines are drawn here. All text is set as text. Without this script the page shows a
 * plain picture instead. */
(() => {
  const NEAR = 40; // CSS pixels between the pointer and the packet that it means
  const NS_PER_MS = 1e6;
  const HEIGHT = 380;
  const MOST_APART = 4; // as plots.py has it for its zoom

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const spaced = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
  const shownMs = (ms) => ms.toFixed(6).replace(/0{1,3}$/, "");

  function summed(differences) {
    let at = 0;
    return differences.map((each) => (at += each));
  }

  /** Return how many of some ascending numbers are below one. */
  function below(numbers, limit) {
    let low = 0;
    let high = numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < limit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function unpacked(packed) {
    let next = 0;
    const seq = packed.s.map((gap, k) => {
      const first = next + gap;
      next = first + packed.l[k];
      return first;
    });
    const acked = summed(packed.aa);
    const windows = summed(packed.aw);
    let highest = 0;
    let edge = 0;
    return {
      count: packed.n,
      row: packed.i ? summed(packed.i) : seq.map((_, k) => k),
      ms: summed(packed.t).map((ns) => ns / NS_PER_MS),
      seq,
      end: seq.map((first, k) => first + packed.l[k]),
      cause: packed.c,
      again: new Set(packed.a),
      ackMs: summed(packed.at).map((ns) => ns / NS_PER_MS),
      acked: acked.map((each) => (highest = Math.max(highest, each))),
      edge: acked.map((each, k) => (edge = Math.max(edge, each + windows[k]))),
    };
  }

  const last = (numbers) => (numbers.length ? numbers[numbers.length - 1] : 0);

  class Picture {
    constructor(root) {
      this.root = root;
      this.plot = root.querySelector(".plot");
      this.said = root.querySelector("output");
      this.data = JSON.parse(root.querySelector("script").textContent);
      this.chosen = null; // of the kernel's packets
      this.showModel = true;
      this.mark = document.createElement("div");
      this.mark.className = "mark";
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.tip.setAttribute("aria-hidden", "true"); // the output says the same
      this.show(0);
      this.listen();
    }

    show(place) {
      const variant = this.data.variants[place];
      this.variant = variant;
      this.kernel = unpacked(variant.kernel);
      // Columns that are the kernel's, too, are not written twice.
      this.model = variant.model && unpacked({ ...variant.kernel, ...variant.model });
      this.chosen = null;
      const voices = this.model ? [this.kernel, this.model] : [this.kernel];
      this.whole = Math.max(
        1e-3, ...voices.flatMap((each) => [last(each.ms), last(each.ackMs)]),
      );
      this.window = { min: 0, max: this.whole };
      this.build();
      this.say("");
    }

    build() {
      if (this.chart) this.chart.destroy();
      // uPlot has the times only: what is drawn at them, and how high, is said here.
      const times = [0, ...this.kernel.ms, this.whole];
      this.chart = new uPlot(this.options(), [times, times.map(() => null)], this.plot);
      this.chart.over.append(this.mark, this.tip);
      this.see(this.window.min, this.window.max);
    }

    options() {
      const ink = colour("--ink");
      const grid = { stroke: colour("--line"), width: 1 };
      const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif" };
      const hidden = { paths: () => null, points: { show: false } };
      return {
        width: this.width(),
        height: HEIGHT,
        legend: { show: false },
        scales: {
          x: { time: false, range: (_u, low, high) => [low, high] },
          y: { auto: false, range: (_u, low, high) => [low, high] },
        },
        series: [{}, hidden],
        axes: [
          { ...axis, label: "time since connect (ms)", space: 80 },
          { ...axis, label: "sequence (bytes)",
            size: (_u, ticks) => 24 + 7 * Math.max(2, ...(ticks || []).map((each) => each.length)),
            values: (_u, ticks) => ticks.map((each) => spaced(each)) },
        ],
        cursor: {
          y: false,
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => this.act("whole") },
        },
        hooks: {
          draw: [() => this.draw()],
          setCursor: [(u) => this.hover(u)],
          setSelect: [(u) => this.selected(u)],
        },
      };
    }

    width() {
      return Math.max(240, this.plot.clientWidth);
    }

    /** Return the lowest and the highest byte to show of a time: that of its packets,
     * and of its ACKs where those are not so far off that packets would be specks. */
    heights(from, to) {
      const { ms, seq, end, ackMs, acked } = this.kernel;
      const inside = (times) => [below(times, from), below(times, to + 1e-9)];
      const span = (columns) => {
        const every = columns.flat();
        return every.reduce(([low, high], at) => [Math.min(low, at), Math.max(high, at)],
          [Infinity, -Infinity]);
      };
      const packets = span([seq.slice(...inside(ms)), end.slice(...inside(ms))]);
      const acks = span([acked.slice(...inside(ackMs))]);
      const both = [Math.min(packets[0], acks[0]), Math.max(packets[1], acks[1])];
      const far = both[1] - both[0] > MOST_APART * (packets[1] - packets[0]);
      const [low, high] = packets[0] <= packets[1] && far ? packets : both;
      if (low > high) return [0, 1];
      const room = Math.max(1, (high - low) * 0.06);
      return [low - room, high + room];
    }

    draw() {
      const { ctx, bbox } = this.chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      const { kernel, model } = this;
      const place = this.variant.place % 4;
      this.steps(kernel.ackMs, kernel.edge, colour("--quiet"), 1);
      this.steps(kernel.ackMs, kernel.acked, colour("--ink"), 1);
      this.bars(kernel, (k) => !kernel.again.has(k), colour(`--v${place}`), 2);
      if (model && this.showModel) {
        this.bars(model, () => true, colour(`--m${place}`), 1.5, { dashes: [3, 3] });
      }
      // However far away, what was sent again is seen, and on top.
      this.bars(kernel, (k) => kernel.again.has(k), colour("--bad"), 2.5, { least: 8 });
      ctx.restore();
    }

    /** Draw a line that keeps its value until the next one. */
    steps(ms, values, ink, width) {
      const { ctx, scales } = this.chart;
      const from = Math.max(0, below(ms, scales.x.min) - 1);
      const to = Math.min(ms.length, below(ms, scales.x.max) + 1);
      ctx.beginPath();
      let y = null;
      for (let k = from; k < to; k++) {
        const x = this.chart.valToPos(ms[k], "x", true);
        if (y === null) ctx.moveTo(x, this.chart.valToPos(values[k], "y", true));
        else ctx.lineTo(x, y);
        y = this.chart.valToPos(values[k], "y", true);
        ctx.lineTo(x, y);
      }
      this.stroke(ink, width, []);
    }

    /** Draw packets, each from its first byte to its last, and some pixels at least. */
    bars(voice, wanted, ink, width, { dashes = [], least = 0 } = {}) {
      const { ctx, scales } = this.chart;
      const to = below(voice.ms, scales.x.max + 1e-9);
      ctx.beginPath();
      for (let k = below(voice.ms, scales.x.min); k < to; k++) {
        if (!wanted(k)) continue;
        const x = this.chart.valToPos(voice.ms[k], "x", true);
        const low = this.chart.valToPos(voice.seq[k], "y", true);
        const high = this.chart.valToPos(voice.end[k], "y", true);
        const more = Math.max(0, least * devicePixelRatio - (low - high)) / 2;
        ctx.moveTo(x, low + more);
        ctx.lineTo(x, high - more);
      }
      this.stroke(ink, width, dashes);
    }

    stroke(ink, width, dashes) {
      const { ctx } = this.chart;
      ctx.strokeStyle = ink;
      ctx.lineWidth = width * devicePixelRatio;
      ctx.setLineDash(dashes.map((each) => each * devicePixelRatio));
      ctx.stroke();
    }

    hover(u) {
      const { left, top } = u.cursor;
      if (left === undefined || left < 0) {
        this.tip.hidden = true;
        return;
      }
      const found = this.nearest(this.kernel, left, top);
      const other = this.model && this.showModel ? this.nearest(this.model, left, top) : null;
      const [voice, at] =
        other && (!found || other.away < found.away)
          ? [this.model, other] : [this.kernel, found];
      this.tip.hidden = !at;
      if (!at) return;
      this.tip.textContent = this.told(voice, at.k);
      const right = left > u.over.clientWidth / 2;
      this.tip.style.left = right ? "" : `${left + 14}px`;
      this.tip.style.right = right ? `${u.over.clientWidth - left + 14}px` : "";
      this.tip.style.top = `${Math.max(0, Math.min(top, u.over.clientHeight - 110))}px`;
    }

    nearest(voice, left, top) {
      const u = this.chart;
      const from = below(voice.ms, u.posToVal(left - NEAR, "x"));
      const to = below(voice.ms, u.posToVal(left + NEAR, "x"));
      let best = null;
      for (let k = from; k < to; k++) {
        const across = u.valToPos(voice.ms[k], "x") - left;
        const high = u.valToPos(voice.end[k], "y");
        const low = u.valToPos(voice.seq[k], "y");
        const up = top < high ? high - top : top > low ? top - low : 0;
        const away = Math.hypot(across, up);
        if (away <= NEAR && (!best || away < best.away)) best = { k, away };
      }
      return best;
    }

    /** Return what is known of a packet, a line each. */
    told(voice, k) {
      const length = voice.end[k] - voice.seq[k];
      const segments = Math.ceil(length / this.variant.mss);
      const acks = below(voice.ackMs, voice.ms[k] + 1e-9);
      const flight = voice.end[k] - (acks ? voice.acked[acks - 1] : 0);
      const cause = voice.cause ? this.data.causes[voice.cause[k]] : undefined;
      const who = voice === this.model ? "model" : "kernel";
      return [
        `${this.variant.name}, ${who}: packet #${spaced(voice.row[k])} of ${spaced(voice.count)}`,
        `at ${shownMs(voice.ms[k])} ms`,
        `seq ${spaced(voice.seq[k])} to ${spaced(voice.end[k])}`,
        `length ${spaced(length)} bytes, ${segments} segment${segments === 1 ? "" : "s"}`,
        voice.again.has(k) ? "sent again" : `cut by ${cause || "an unknown rule"}`,
        `${spaced(Math.max(0, flight))} bytes in flight after it`,
      ].join("\n");
    }

    say(text) {
      this.said.textContent = text.replaceAll("\n", "; ");
    }

    /** Choose a packet of the kernel's, and have it in sight. */
    choose(k) {
      const { ms } = this.kernel;
      if (!ms.length) return;
      this.chosen = Math.max(0, Math.min(ms.length - 1, k));
      const { min, max } = this.window;
      const at = ms[this.chosen];
      if (at < min || at > max) this.see(at - (max - min) / 2, at + (max - min) / 2);
      this.say(this.told(this.kernel, this.chosen));
      this.place();
    }

    step(by) {
      const { min } = this.window;
      const first = below(this.kernel.ms, min);
      this.choose(this.chosen === null ? first : this.chosen + by);
    }

    /** Put the mark on the packet chosen. */
    place() {
      const k = this.chosen;
      this.mark.hidden = k === null;
      if (k === null) return;
      const high = this.chart.valToPos(this.kernel.end[k], "y");
      const low = this.chart.valToPos(this.kernel.seq[k], "y");
      this.mark.style.left = `${this.chart.valToPos(this.kernel.ms[k], "x") - 5}px`;
      this.mark.style.top = `${high - 4}px`;
      this.mark.style.height = `${Math.max(8, low - high + 8)}px`;
    }

    /** Show a part of the time, in ms; as much of it as there is. */
    see(from, to) {
      const length = Math.min(this.whole, Math.max(1e-4, to - from));
      const begin = Math.max(0, Math.min(from, this.whole - length));
      const end = begin + length;
      const [low, high] = this.heights(begin, end);
      this.window = { min: begin, max: end };
      this.chart.setScale("x", { min: begin, max: end }); // both are drawn later, at once
      this.chart.setScale("y", { min: low, max: high });
      this.root.dataset.from = begin;
      this.root.dataset.to = end;
      this.root.querySelector(".range").textContent =
        `${shownMs(begin)} to ${shownMs(end)} ms of ${shownMs(this.whole)} ms`;
      requestAnimationFrame(() => this.place());
    }

    /** Show what was dragged over. */
    selected(u) {
      const { left, width } = u.select;
      if (!width) return;
      u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      this.see(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
    }

    zoom(by) {
      const { min, max } = this.window;
      const at = this.chosen === null ? (min + max) / 2 : this.kernel.ms[this.chosen];
      const middle = at >= min && at <= max ? at : (min + max) / 2;
      const length = (max - min) * by;
      this.see(middle - length / 2, middle + length / 2);
    }

    pan(by) {
      const { min, max } = this.window;
      this.see(min + (max - min) * by, max + (max - min) * by);
    }

    act(name) {
      const acts = {
        in: () => this.zoom(0.5),
        out: () => this.zoom(2),
        earlier: () => this.pan(-0.5),
        later: () => this.pan(0.5),
        whole: () => this.see(0, this.whole),
        previous: () => this.step(-1),
        next: () => this.step(1),
      };
      acts[name]();
    }

    listen() {
      const keys = {
        "+": "in", "=": "in", "-": "out", 0: "whole", Home: "whole",
        ArrowLeft: "previous", ArrowRight: "next", PageUp: "earlier", PageDown: "later",
      };
      for (const button of this.root.querySelectorAll("button[data-do]")) {
        button.addEventListener("click", () => this.act(button.dataset.do));
      }
      this.plot.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
        event.preventDefault();
        this.act(keys[event.key]);
      });
      this.select = this.root.querySelector("select");
      this.select.addEventListener("change", () => this.show(this.select.selectedIndex));
      const model = this.root.querySelector("input.model");
      if (model) {
        model.addEventListener("change", () => {
          this.showModel = model.checked;
          this.chart.redraw();
        });
      }
      new ResizeObserver(() => {
        if (this.width() !== this.chart.width) {
          this.chart.setSize({ width: this.width(), height: HEIGHT });
          this.place();
        }
      }).observe(this.plot);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
        this.build();
      });
    }

    /** Show a moment: a variant, a time in ns, the row of a packet, what it is. */
    go({ variant, begin, end, packet, title }) {
      const place = this.data.variants.findIndex((each) => each.name === variant);
      if (this.select.selectedIndex !== place) {
        this.select.selectedIndex = place;
        this.show(place);
      }
      const room = Math.max(1000, (end - begin) * 0.1);
      this.see((begin - room) / NS_PER_MS, (end + room) / NS_PER_MS);
      const k = below(this.kernel.row, Number(packet));
      this.chosen = null;
      if (this.kernel.ms[k] >= this.window.min) this.choose(k);
      else this.say(title); // an ACK, long after the last packet
      this.place();
      this.root.scrollIntoView({ block: "start" });
      this.plot.focus({ preventScroll: true });
    }
  }

  function begin() {
    const pictures = new Map();
    for (const root of document.querySelectorAll("figure.live")) {
      root.hidden = false; // it needs a width to be drawn
      pictures.set(root.id, new Picture(root));
      root.closest("section").classList.add("drawn"); // hides the plain picture
    }
    for (const button of document.querySelectorAll("button[data-jump]")) {
      const { jump, variant, title, packet } = button.dataset;
      const [begin, end] = [Number(button.dataset.begin), Number(button.dataset.end)];
      button.hidden = false;
      button.addEventListener("click", () =>
        pictures.get(jump).go({ variant, begin, end, packet, title }));
    }
    addEventListener("beforeprint", () => {
      for (const each of document.querySelectorAll("details.moment")) each.open = true;
    });
  }

  begin();
})();
