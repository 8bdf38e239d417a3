"use strict";
(() => {
  const ROWS = 100;
  const FILTERED_FROM = 8;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const made = (name, properties = {}) => Object.assign(document.createElement(name), properties);

  function theme() {
    const root = document.documentElement;
    const button = document.querySelector("[data-theme-switch]");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
    });
    system.addEventListener("change", show);
    show();
  }

  function openAll() {
    const parts = all("section > details");
    const button = document.querySelector("[data-all]");
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = parts.some((part) => !part.open);
      parts.forEach((part) => { part.open = open; });
      button.textContent = open ? "Close all" : "Open all";
    });
  }

  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const part = target.querySelector("details");
    if (part) part.open = true;
    target.scrollIntoView();
  }

  function printing() {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = all("details:not([open])");
      closed.forEach((part) => { part.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
  }

  const UNITS = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
  function worth(text) {
    const found = /^\$?(-?[\d,]+(?:\.\d+)?)(Ki|Mi|Gi|Ti)?(?:$|\s)/.exec(text);
    return found ? Number(found[1].replaceAll(",", "")) * (UNITS[found[2]] || 1) : null;
  }
  const compareText = new Intl.Collator("en", { numeric: true }).compare;
  function compare(a, b) {
    const [left, right] = [worth(a), worth(b)];
    if (left !== null && right !== null) return left - right || compareText(a, b);
    if (left !== null) return -1;
    if (right !== null) return 1;
    return compareText(a, b);
  }

  class Table {
    constructor(table) {
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.headings = [...table.tHead.rows[0].cells];
      this.limit = ROWS;
      if (this.rows.length < 2) return;
      this.headings.forEach((heading, column) => this.sortable(heading, column));
      if (this.rows.length > FILTERED_FROM) this.filterable(table);
    }

    sortable(heading, column) {
      const button = made("button", { type: "button", textContent: heading.textContent });
      heading.replaceChildren(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        this.headings.forEach((other) => other.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        this.sort(column, down ? -1 : 1);
      });
    }

    sort(column, direction) {
      const keyed = this.rows.map((row) => [row.cells[column].textContent.trim(), row]);
      const isUnknown = (text) => text === "unknown" || text === "";
      keyed.sort(([a], [b]) => (isUnknown(a) - isUnknown(b)) || direction * compare(a, b));
      this.rows = keyed.map(([, row]) => row);
      this.body.append(...this.rows);
      this.show();
    }

    filterable(table) {
      const line = made("div", { className: "filter" });
      const label = made("label", { textContent: "Filter " });
      this.input = made("input", { type: "search", autocomplete: "off" });
      this.input.setAttribute("aria-label", `Filter: ${table.caption.textContent}`);
      label.append(this.input);
      this.count = made("output");
      this.more = made("button", { type: "button", hidden: true });
      this.more.addEventListener("click", () => { this.limit = Infinity; this.show(); });
      this.input.addEventListener("input", () => this.show());
      line.append(label, this.count, this.more);
      table.closest(".scroll").before(line);
      this.show();
    }

    show() {
      if (!this.input) return;
      const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const row of this.rows) {
        const fits = !words.length || words.every((word) => (row.text ??= row.textContent.toLowerCase()).includes(word));
        row.hidden = !fits || found >= this.limit;
        found += fits;
      }
      const shown = Math.min(found, this.limit);
      this.count.textContent = `${shown} of ${this.rows.length} shown`;
      this.more.hidden = shown >= found;
      this.more.textContent = `Show ${found - shown} more`;
    }
  }

  function legends() {
    for (const button of all("[data-legend] button")) {
      button.addEventListener("click", () => {
        const legend = button.closest("[data-legend]");
        const map = legend.nextElementSibling;
        const press = button.getAttribute("aria-pressed") !== "true";
        all("button", legend).forEach((other) => other.setAttribute("aria-pressed", "false"));
        button.setAttribute("aria-pressed", String(press));
        map.classList.toggle("dimmed", press);
        all("[data-holder]", map).forEach((group) => {
          group.classList.toggle("chosen", press && group.dataset.holder === button.dataset.holder);
        });
      });
    }
  }

  theme();
  openAll();
  printing();
  legends();
  all("table[data-table]").forEach((table) => new Table(table));
  addEventListener("hashchange", openTarget);
  openTarget();
})();
