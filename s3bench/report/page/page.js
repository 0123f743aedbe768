"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Tabs: links to the parts become tabs, and one part is shown (WAI-ARIA Authoring Practices, tabs).
  const bar = document.querySelector(".tabs");
  const tabs = bar ? all("a", bar) : [];
  const panelOf = (tab) => document.getElementById(tab.hash.slice(1));

  function choose(chosen, { focus = false } = {}) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      panelOf(tab).classList.toggle("is-away", tab !== chosen);
    }
    if (focus) chosen.focus();
  }

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const tab = target && tabs.find((each) => panelOf(each).contains(target));
    if (!tab) return;
    choose(tab);
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target !== panelOf(tab)) target.scrollIntoView();
  }

  if (tabs.length > 1) {
    bar.setAttribute("role", "tablist");
    for (const [place, tab] of tabs.entries()) {
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", panelOf(tab).id);
      tab.id = `tab-${place}`;
      panelOf(tab).setAttribute("role", "tabpanel");
      panelOf(tab).setAttribute("aria-labelledby", tab.id);
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        choose(tab);
        history.replaceState(null, "", tab.hash);
      });
    }
    bar.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(document.activeElement);
      const last = tabs.length - 1;
      const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === " ") tabs[at].click();
      else if (event.key in to) choose(tabs[to[event.key]], { focus: true });
      else return;
      event.preventDefault();
    });
    choose(tabs[0]);
    addEventListener("hashchange", reveal);
    reveal();
  }

  // Colours: as the system has them, light, or dark. Nothing is remembered.
  const colours = document.querySelector(".colours");
  const choices = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  let choice = 0;
  colours.hidden = false;
  colours.addEventListener("click", () => {
    choice = (choice + 1) % choices.length;
    const [name, words] = choices[choice];
    if (name) document.documentElement.dataset.colours = name;
    else delete document.documentElement.dataset.colours;
    colours.textContent = `Colours: ${words}`;
  });

  // Tables: a button in each heading sorts by its column, up, down, and back to the order that the page came with.
  const words = new Intl.Collator("en", { numeric: true });
  const next = { "": "ascending", ascending: "descending", descending: "" };

  function sort(table, column, order) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    for (const [place, row] of rows.entries()) row.dataset.place ??= place;
    const isNumber = table.tHead.rows[0].cells[column].classList.contains("n");
    const sign = order === "descending" ? -1 : 1;
    const compare = (one, other) => {
      const [a, b] = [one.cells[column], other.cells[column]];
      if (!isNumber) return sign * words.compare(a.textContent, b.textContent);
      if (!a.dataset.v || !b.dataset.v) return !a.dataset.v - !b.dataset.v; // what has no value is last both ways
      return sign * (Number(a.dataset.v) - Number(b.dataset.v));
    };
    rows.sort((one, other) => (order && compare(one, other)) || one.dataset.place - other.dataset.place);
    body.append(...rows);
  }

  for (const table of all("table")) {
    const heads = [...table.tHead.rows[0].cells];
    if (table.tBodies[0].rows.length < 2) continue;
    for (const [column, head] of heads.entries()) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const order = next[head.getAttribute("aria-sort") ?? ""];
        for (const other of heads) other.removeAttribute("aria-sort");
        if (order) head.setAttribute("aria-sort", order);
        sort(table, column, order);
      });
    }
  }

  // Charts: what a mark says is shown at the pointer, and said while arrow keys walk over the marks.
  const NEAR_PX = 14;
  const SMALL_PX = 26;
  const tip = document.createElement("div");
  const heard = document.createElement("p");
  tip.className = "tip";
  tip.hidden = true;
  heard.className = "heard";
  heard.setAttribute("aria-live", "polite");
  document.body.append(tip, heard);
  let shown = null;

  function hide() {
    shown?.classList.remove("is-shown");
    shown = null;
    tip.hidden = true;
  }

  function show(mark, x, y) {
    if (mark !== shown) {
      hide();
      shown = mark;
      mark.classList.add("is-shown");
      tip.textContent = mark.dataset.label;
      tip.hidden = false;
    }
    const box = tip.getBoundingClientRect();
    const left = Math.min(x + 12, innerWidth - box.width - 8);
    const top = y - box.height - 12;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${top < 8 ? y + 16 : top}px`;
  }

  // The same chart is there for wide and for narrow screens: the marks of the second have the words of the first's.
  const marksOf = (chart) => all("[data-label]", chart);
  const shownMarks = (plot) => marksOf(all(".chart", plot).find((chart) => chart.getClientRects().length) ?? plot);

  for (const plot of all(".plot")) {
    const [wide, narrow] = all(".chart", plot).map(marksOf);
    narrow.forEach((mark, place) => { mark.dataset.label = wide[place]?.dataset.label ?? ""; });
  }

  function markAt(plot, event) {
    let best = null;
    let bestDistance = NEAR_PX;
    for (const mark of shownMarks(plot)) {
      const box = mark.getBoundingClientRect();
      if (Math.max(box.width, box.height) > SMALL_PX) continue; // large ones must be met themselves
      const distance = Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
      if (distance < bestDistance) [best, bestDistance] = [mark, distance];
    }
    return best ?? event.target.closest("[data-label]");
  }

  function walk(plot, key) {
    const marks = shownMarks(plot);
    const at = marks.indexOf(shown);
    const last = marks.length - 1;
    const steps = {
      ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last),
      ArrowLeft: Math.max(at - 1, 0), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last,
    };
    if (!(key in steps) || last < 0) return false;
    const mark = marks[steps[key]];
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    const box = mark.getBoundingClientRect();
    show(mark, box.x + box.width / 2, box.y);
    heard.textContent = `${mark.dataset.label} (${steps[key] + 1} of ${marks.length})`;
    return true;
  }

  for (const plot of all(".plot")) {
    plot.addEventListener("pointermove", (event) => {
      const mark = markAt(plot, event);
      if (mark) show(mark, event.clientX, event.clientY);
      else hide();
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (walk(plot, event.key)) event.preventDefault();
    });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("scroll", () => { if (!document.activeElement?.matches(".plot")) hide(); }, { passive: true });
})();
