// Tables that sort, search and turn pages, and the choice of an error for all that follows it.
(() => {
  "use strict";

  const PAGE = 50;
  const PRINTED = { classes: Infinity, images: 100 };
  const DASH = "–";
  const collator = new Intl.Collator("en", { numeric: true });
  const grouped = new Intl.NumberFormat("en-GB");

  /** Show a value as the text report does: hundredths of a percent with two decimals. */
  function shown(value, kind) {
    if (value === null || value === undefined) return DASH;
    if (kind === "count") return grouped.format(value);
    if (kind === "percent") return (value / 100).toFixed(2);
    if (kind === "delta") {
      const sign = value > 0 ? "+" : value < 0 ? "−" : "";
      return sign + (Math.abs(value) / 100).toFixed(2);
    }
    return value;
  }

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  class Sheet {
    constructor(box) {
      this.box = box;
      this.things = box.dataset.things;
      const data = JSON.parse(box.querySelector("script").textContent);
      this.columns = data.columns;
      this.count = data.rows;
      this.groups = data.groups.map((group) => new Set(group.rows));
      const words = this.columns.filter((column) => isWords(column.kind));
      this.words = Array.from({ length: this.count }, (_, row) =>
        words.map((column) => column.values[row] ?? "").join(" ").toLowerCase()
      );
      this.error = "";
      this.sorted = null;
      this.page = 0;
      this.listen();
      box.hidden = false;
      this.choose("");
    }

    listen() {
      const again = () => this.renew();
      this.search = this.box.querySelector("input");
      this.view = this.box.querySelector(".views");
      this.group = this.box.querySelector(".groups");
      this.search.addEventListener("input", again);
      this.view?.addEventListener("change", () => this.head());
      this.group?.addEventListener("change", again);
      this.box.querySelector("thead").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) this.sortBy(button.parentElement.dataset.key);
      });
      this.box.querySelector(".pages").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button && button.getAttribute("aria-disabled") !== "true") this.turn(button.dataset.page);
      });
    }

    /** Show the rows with one kind of error, the worst first; with none, all. */
    choose(error) {
      this.error = error;
      if (this.view) this.view.disabled = error !== "";
      this.sorted = null;
      for (const key of error ? [`delta_${error}`, error] : []) {
        if (!this.sorted && this.columns.some((column) => column.key === key)) {
          this.sorted = { key, down: true };
        }
      }
      this.head();
    }

    visible() {
      const view = this.error || (this.view ? this.view.value : "counts");
      return this.columns.filter((column) => !column.views || column.views.includes(view));
    }

    /** Build the headings anew; what is sorted by a column that is no longer there is not sorted. */
    head() {
      const columns = this.visible();
      if (!columns.some((column) => column.key === this.sorted?.key)) this.sorted = null;
      const cells = columns.map((column) => {
        const button = element("button", { type: "button", title: column.about ?? "" });
        const cell = element("th", { scope: "col", "data-key": column.key }, button);
        if (isWords(column.kind)) cell.className = "words";
        const [first, ...others] = column.title.split(" ");
        const start = element("span", { class: "start" }, first);
        if (column.error) {
          cell.dataset.error = column.error;
          start.prepend(element("span", { class: "swatch" }));
        }
        button.append(start, others.map((word) => ` ${word}`).join(""));
        return cell;
      });
      this.box.querySelector("thead").replaceChildren(element("tr", {}, ...cells));
      this.renew();
    }

    sortBy(key) {
      const column = this.columns.find((each) => each.key === key);
      const down = this.sorted?.key === key ? !this.sorted.down : !isWords(column.kind);
      this.sorted = { key, down };
      this.renew();
    }

    /** Choose and order the rows, and show the first page of them. */
    renew() {
      const terms = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const group = this.group?.value ? this.groups[this.group.value] : null;
      const telling = this.columns.filter((column) => this.error && column.error === this.error);
      this.rows = [];
      for (let row = 0; row < this.count; row += 1) {
        const fits =
          terms.every((term) => this.words[row].includes(term)) &&
          (!group || group.has(row)) &&
          (!telling.length || telling.some((column) => column.values[row]));
        if (fits) this.rows.push(row);
      }
      if (this.sorted) this.order();
      this.page = 0;
      this.show();
    }

    order() {
      const { key, down } = this.sorted;
      const { values, kind } = this.columns.find((column) => column.key === key);
      const compare = isWords(kind) ? collator.compare : (one, other) => one - other;
      const way = down ? -1 : 1;
      this.rows.sort((one, other) => {
        const [a, b] = [values[one], values[other]];
        // What is undefined stands last whichever way.
        if (a === null || b === null) return (a === null) - (b === null);
        return way * compare(a, b);
      });
    }

    turn(where) {
      const last = Math.max(0, Math.ceil(this.rows.length / PAGE) - 1);
      this.page = { first: 0, previous: this.page - 1, next: this.page + 1, last }[where];
      this.show();
    }

    /** Put some of the rows into the page. */
    show(start = this.page * PAGE, count = PAGE) {
      const columns = this.visible();
      const rows = this.rows.slice(start, start + count);
      const made = rows.map((row) => {
        const cells = columns.map(({ kind, title, values }) => {
          const cell = document.createElement(kind === "name" ? "th" : "td");
          if (kind === "name") cell.scope = "row";
          if (isWords(kind)) cell.className = "words";
          cell.dataset.title = title; // shown where rows are too narrow for headings
          cell.textContent = shown(values[row], kind);
          return cell;
        });
        return element("tr", {}, ...cells);
      });
      this.box.querySelector("tbody").replaceChildren(...made);
      for (const cell of this.box.querySelectorAll("thead th")) {
        if (cell.dataset.key === this.sorted?.key) {
          cell.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
        } else {
          cell.removeAttribute("aria-sort");
        }
      }
      this.tell(start, rows.length);
    }

    tell(start, count) {
      const [first, last, all] = [start + 1, start + count, this.rows.length].map(grouped.format);
      const title = this.columns.find((column) => column.key === this.error)?.title;
      const having = title ? ` with the error “${title}”` : "";
      const whole = grouped.format(this.count);
      const fewer = all === whole ? "" : `; ${whole} ${this.things} in all`;
      this.box.querySelector(".rows").textContent = count
        ? `Rows ${first}–${last} of ${all}${having}${fewer}`
        : `None of the ${whole} ${this.things} fits.`;
      const ends = { first: start === 0, last: start + count >= this.rows.length };
      const disabled = { first: ends.first, previous: ends.first, next: ends.last, last: ends.last };
      for (const button of this.box.querySelectorAll(".pages button")) {
        // Not `disabled`, which would take the focus away at the last page.
        button.setAttribute("aria-disabled", disabled[button.dataset.page]);
      }
    }
  }

  function isWords(kind) {
    return kind === "name" || kind === "text";
  }

  const sheets = Array.from(document.querySelectorAll(".sheet"), (box) => new Sheet(box));
  const filter = document.querySelector(".filter");
  const sections = document.querySelectorAll("section.error");

  function choose(error) {
    for (const section of sections) {
      section.hidden = error !== "" && section.dataset.error !== error;
      const more = section.querySelector("details");
      if (more) more.open = error !== "";
    }
    for (const sheet of sheets) sheet.choose(error);
  }

  filter.hidden = false;
  filter.reset();
  filter.addEventListener("change", () => choose(filter.elements.error.value));
  filter.addEventListener("submit", (event) => event.preventDefault());
  // A link to an error that is filtered away shows all errors again.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#error-"]');
    const target = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (target?.hidden) {
      filter.reset();
      choose("");
    }
  });

  window.addEventListener("beforeprint", () => {
    for (const sheet of sheets) sheet.show(0, PRINTED[sheet.things]);
  });
  window.addEventListener("afterprint", () => {
    for (const sheet of sheets) sheet.show();
  });
})();
