// Flame graphs: frames as rectangles, callers above what they call, widths by the time of one side.
(() => {
  const ROW_PX = 18;
  const NARROWEST_PX = 1;
  const LABEL_PX = 26;
  const PRINTED_PX = 1000;
  const FONT = '11.5px Arial, "Liberation Sans", Helvetica, sans-serif';
  const PATH_MAX = 6;
  const SVG = "http://www.w3.org/2000/svg";
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  const widthOf = (text) => ruler.measureText(text).width;
  const tip = document.querySelector(".tip");
  const heard = document.querySelector(".heard");

  async function unpacked(packed) {
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  const element = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  };
  const digits = (value) => value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
  const time = (seconds) => (Math.abs(seconds) >= 1 ? `${digits(seconds)} s` : `${digits(seconds * 1000)} ms`);
  const change = (seconds) => `${seconds > 0 ? "+" : ""}${time(seconds)}`;
  const percent = (share) => `${(share * 100).toFixed(1)}%`;

  class Tree {
    constructor(data) {
      Object.assign(this, data);
      this.size = this.depth.length;
      this.caller = new Int32Array(this.size).fill(-1);
      this.total = this.self.map((column) => Float64Array.from(column));
      this.calls = Array.from({ length: this.size }, () => []);
      const chain = [];
      for (let node = 0; node < this.size; node += 1) {
        chain.length = this.depth[node];
        if (chain.length) {
          this.caller[node] = chain[chain.length - 1];
          this.calls[this.caller[node]].push(node);
        }
        chain.push(node);
      }
      for (const total of this.total) {
        for (let node = this.size - 1; node > 0; node -= 1) total[this.caller[node]] += total[node];
      }
    }

    seconds(side, node) { return this.total[side][node] * this.scale[side]; }
    selfSeconds(side, node) { return this.self[side][node] * this.scale[side]; }
    difference(node) { return this.seconds(0, node) - this.seconds(1, node); }
    share(side, node) { return this.total[side][0] ? this.total[side][node] / this.total[side][0] : 0; }

    name(node) {
      const [module, name] = this.functions[this.function[node]];
      return this.modules[module] ? `${this.modules[module]}:${name}` : name;
    }

    // Short, for the frame itself.
    label(node) {
      const [module, name] = this.functions[this.function[node]];
      return name === "<module>" ? `import ${this.modules[module]}` : name;
    }

    words(node) {
      const [, , file, line] = this.functions[this.function[node]];
      const place = file && line ? `${file}:${line}` : file;
      const lines = place ? [this.name(node), place] : [this.name(node)];
      if (this.labels.length === 1) {
        const share = percent(this.share(0, node));
        lines.push(`total ${time(this.seconds(0, node))} per run (${share}), self ${time(this.selfSeconds(0, node))}`);
        return lines;
      }
      for (const [word, of] of [["total", this.seconds], ["self", this.selfSeconds]]) {
        const [candidate, baseline] = [of.call(this, 0, node), of.call(this, 1, node)];
        const sides = `${time(baseline)} with ${this.labels[1]}, ${time(candidate)} with ${this.labels[0]}`;
        lines.push(`${word} per run: ${change(candidate - baseline)} (${sides})`);
      }
      if (this.noise[node]) lines.push("The difference of the total is within the noise.");
      return lines;
    }
  }

  class FlameGraph {
    constructor(figure, tree) {
      this.tree = tree;
      this.side = 0;
      this.focus = 0;
      this.current = -1;
      this.matches = null;
      this.view = figure.querySelector(".flame-view");
      this.path = figure.querySelector(".flame-path");
      this.told = figure.querySelector(".flame-matches");
      this.search = figure.querySelector("input");
      this.widths = figure.querySelector(".flame-widths");
      figure.querySelector(".without-script").remove();
      for (const each of [".flame-view", ".flame-controls", ".flame-keys"]) figure.querySelector(each).hidden = false;
      figure.querySelector(".flame-reset").addEventListener("click", () => this.reset());
      this.search.addEventListener("input", () => this.find(this.search.value));
      this.offerWidths();
      this.listen();
      new ResizeObserver(() => {
        if (this.view.clientWidth && this.view.clientWidth !== this.width) this.draw();
      }).observe(this.view);
      addEventListener("beforeprint", () => {
        if (!this.frames) this.draw(PRINTED_PX); // it is in a part that was never shown
      });
    }

    offerWidths() {
      if (this.tree.labels.length < 2) return;
      const buttons = [...this.tree.labels.entries()].reverse().map(([side, label]) => {
        const made = button(`Widths: ${label}`, () => {
          this.side = side;
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === made));
          this.zoom(this.tree.total[side][this.focus] ? this.focus : 0);
        });
        made.setAttribute("aria-pressed", String(side === this.side));
        return made;
      });
      this.widths.append(...buttons);
    }

    listen() {
      const nodeAt = (event) => event.target.dataset?.node;
      this.view.addEventListener("click", (event) => {
        if (nodeAt(event)) this.zoom(Number(nodeAt(event)));
      });
      this.view.addEventListener("pointermove", (event) => {
        if (nodeAt(event)) this.show(Number(nodeAt(event)), event.clientX, event.clientY);
        else this.hide();
      });
      this.view.addEventListener("pointerleave", () => this.hide());
      this.view.addEventListener("blur", () => { this.select(-1); this.hide(); });
      this.view.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        if (event.key === "Escape") this.reset();
        else if (event.key === "Enter" || event.key === " ") this.zoom(Math.max(this.current, 0));
        else if (!this.walk(event.key)) return;
        event.preventDefault();
      });
    }

    // The frames from the root to `node`.
    chain(node) {
      const found = [];
      for (let at = node; at >= 0; at = this.tree.caller[at]) found.unshift(at);
      return found;
    }

    zoom(node) {
      this.focus = node;
      this.hide();
      this.draw();
      this.tellPath();
      if (this.current >= 0) this.select(this.frames.has(this.current) ? this.current : node, { isSaid: true });
    }

    reset() {
      this.search.value = "";
      this.matches = null;
      this.told.textContent = "";
      this.zoom(0);
    }

    tellPath() {
      const chain = this.chain(this.focus);
      const shown = chain.length > PATH_MAX ? [chain[0], -1, ...chain.slice(2 - PATH_MAX)] : chain;
      this.path.hidden = !this.focus;
      this.path.replaceChildren(...shown.flatMap((node, place) => {
        const name = node < 0 ? "…" : button(this.tree.label(node).slice(0, 60), () => this.zoom(node));
        if (node === this.focus) name.setAttribute("aria-current", "location");
        return place ? ["›", name] : [name];
      }));
    }

    find(text) {
      const { tree, side } = this;
      const wanted = text.trim().toLowerCase();
      const isMatch = tree.functions.map(([module, name]) =>
        `${tree.modules[module]}:${name === "<module>" ? `${name} import ${tree.modules[module]}` : name}`
          .toLowerCase().includes(wanted));
      this.matches = wanted ? new Set() : null;
      const sums = tree.labels.map(() => 0);
      for (let node = 1, below = 0; wanted && node < tree.size; node += 1) {
        if (isMatch[tree.function[node]]) {
          this.matches.add(node);
          if (below <= node) { // not within another match, whose time holds it
            below = node + 1;
            while (below < tree.size && tree.depth[below] > tree.depth[node]) below += 1;
            sums.forEach((_, each) => { sums[each] += tree.total[each][node]; });
          }
        }
      }
      const shares = tree.labels.map((label, each) => {
        const named = tree.labels.length > 1 ? ` with ${label}` : "";
        const share = percent(tree.total[each][0] ? sums[each] / tree.total[each][0] : 0);
        return `${share} of the time (${time(sums[each] * tree.scale[each])} per run)${named}`;
      });
      const count = this.matches?.size ?? 0;
      this.told.textContent = wanted ? `${count} ${count === 1 ? "frame matches" : "frames match"}: ${shares.join(", ")}` : "";
      this.draw();
    }

    // Places of all frames that are wide enough, by node: those above the focus take the whole width.
    layout() {
      const { tree, focus, width } = this;
      const total = tree.total[this.side];
      const places = new Map();
      this.chain(focus).forEach((node, row) => places.set(node, { row, x: 0, width, isAbove: node !== focus }));
      const scale = width / total[focus];
      const waiting = total[focus] ? [[focus, 0]] : [];
      while (waiting.length) {
        const [node, x] = waiting.pop();
        let at = x;
        for (const call of tree.calls[node]) {
          const wide = total[call] * scale;
          if (wide >= NARROWEST_PX) {
            places.set(call, { row: tree.depth[call], x: at, width: wide, isAbove: false });
            waiting.push([call, at]);
          }
          at += wide;
        }
      }
      return places;
    }

    draw(width = this.view.clientWidth) {
      this.width = width;
      if (!this.width) return;
      const { tree } = this;
      this.places = this.layout();
      this.frames = new Map();
      const rects = document.createDocumentFragment();
      const texts = document.createDocumentFragment();
      let rows = 1;
      for (const [node, place] of this.places) {
        rows = Math.max(rows, place.row + 1);
        const isUnmatched = this.matches && !this.matches.has(node);
        const state = `${place.isAbove ? " is-above" : ""}${isUnmatched ? " is-unmatched" : ""}`;
        const tint = `${tree.kind}-${tree.tint[node]}`;
        const rect = element("rect", {
          x: place.x.toFixed(2),
          y: place.row * ROW_PX,
          width: Math.max(place.width - (place.width > 3 ? 0.75 : 0), 0.3).toFixed(2),
          height: ROW_PX - 1,
          class: `${tint}${state}${this.matches?.has(node) ? " is-match" : ""}`,
          "data-node": node,
        });
        this.frames.set(node, rect);
        rects.append(rect);
        if (place.width < LABEL_PX) continue;
        const text = element("text", { x: (place.x + 4).toFixed(2), y: place.row * ROW_PX + 12.5, class: `on-${tint}${state}` });
        text.textContent = this.fitted(node, place.width - 6);
        texts.append(text);
      }
      const svg = element("svg", {
        width: this.width, height: rows * ROW_PX, viewBox: `0 0 ${this.width} ${rows * ROW_PX}`, "aria-hidden": "true",
      });
      svg.append(rects, texts);
      this.view.replaceChildren(svg);
    }

    fitted(node, width) {
      const { tree } = this;
      const isChanged = tree.labels.length > 1 && !tree.noise[node];
      const name = tree.label(node);
      const whole = isChanged ? `${name} ${change(tree.difference(node))}` : name;
      if (widthOf(whole) <= width) return whole;
      const nameWidth = widthOf(name);
      if (nameWidth <= width) return name;
      let most = Math.floor(name.length * width / nameWidth);
      while (most > 1 && widthOf(`${name.slice(0, most)}…`) > width) most -= 1;
      return `${name.slice(0, most)}…`;
    }

    select(node, { isSaid = false } = {}) {
      this.frames?.get(this.current)?.classList.remove("is-current");
      this.current = node;
      const rect = this.frames?.get(node);
      if (!rect) return;
      rect.classList.add("is-current");
      rect.parentNode.insertBefore(rect, rect.parentNode.querySelector("text")); // above its neighbours
      rect.scrollIntoView({ block: "nearest", inline: "nearest" });
      const box = rect.getBoundingClientRect();
      if (isSaid) {
        this.show(node, box.x + Math.min(box.width / 2, 200), box.y);
        heard.textContent = tip.textContent.replaceAll("\n", ", ");
      }
    }

    // Up to the caller, down to the largest call, left and right along the row.
    walk(key) {
      const at = this.current;
      const row = at < 0 ? [] : [...this.places.keys()].filter((node) => this.tree.depth[node] === this.tree.depth[at]);
      row.sort((one, other) => this.places.get(one).x - this.places.get(other).x);
      const step = (by) => row[row.indexOf(at) + by] ?? at;
      const largest = () => this.tree.calls[at].filter((call) => this.places.has(call)).reduce(
        (best, call) => (best < 0 || this.places.get(call).width > this.places.get(best).width ? call : best), -1,
      );
      const steps = {
        ArrowUp: () => this.tree.caller[at],
        ArrowDown: largest,
        ArrowLeft: () => step(-1),
        ArrowRight: () => step(1),
        Home: () => 0,
        End: () => row[row.length - 1],
      };
      if (!(key in steps)) return false;
      const to = at < 0 ? this.focus : steps[key]();
      this.select(to < 0 ? at : to, { isSaid: true });
      return true;
    }

    show(node, x, y) {
      tip.textContent = this.tree.words(node).join("\n");
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      const top = y - box.height - 12;
      tip.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - box.width - 8))}px`;
      tip.style.top = `${top < 8 ? y + ROW_PX + 8 : top}px`;
    }

    hide() { tip.hidden = true; }
  }

  for (const figure of document.querySelectorAll(".flame")) {
    if (!("DecompressionStream" in window)) continue; // the table is there
    unpacked(figure.dataset.flame).then((data) => new FlameGraph(figure, new Tree(data)));
  }
})();
