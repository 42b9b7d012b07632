// The explorer: everything below the filter follows one state, which the URL hash stores.
(async () => {
  "use strict";

  const DASH = "–";
  const PAGE = 50;
  const CASES = 24;
  const PER_IMAGE = 2;
  const PRINTED = { classes: Infinity, images: 100, slices: Infinity };
  const collator = new Intl.Collator("en", { numeric: true });
  const grouped = new Intl.NumberFormat("en-GB");
  const byId = (id) => document.getElementById(id);

  async function load() {
    const packed = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  const data = await load();
  const pictures = JSON.parse(byId("pictures").textContent);
  const { models, errors, labels, classes } = data;
  const several = models.length > 1;
  const known = models.map((model, at) => at).filter((at) => models[at].rows);
  const errorOf = Object.assign(Object.create(null), Object.fromEntries(errors.map((error) => [error.name, error])));
  const RIGHT = { name: "true_positive", title: "True positive", colour: "var(--right)" };

  // ---------------------------------------------------------------- words and elements

  /** Format a value as in the text report: hundredths of a percent with two decimals. */
  function shown(value, kind) {
    if (value === null || value === undefined) return DASH;
    if (kind === "count") return grouped.format(value);
    if (kind === "percent") return (value / 100).toFixed(2);
    if (kind === "delta") {
      const text = (Math.abs(value) / 100).toFixed(2);
      if (Number(text) === 0) return text;
      return (value > 0 ? "+" : "−") + text;
    }
    if (kind === "score") return shownScore(value);
    return String(value);
  }

  const shownScore = (score) =>
    Math.abs(score) >= 0.01 || score === 0 ? score.toFixed(2) : Number(score.toPrecision(1)).toString();
  const bounds = (interval, kind) => (interval ? ` [${interval.map((each) => shown(each, kind)).join(", ")}]` : "");
  const ratio = (part, whole) => (whole ? Math.round((1e4 * part) / whole) : null);
  const plural = (number, word, words = `${word}s`) => `${grouped.format(number)} ${number === 1 ? word : words}`;

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  function drawn(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const modelColour = (at) => `var(--model-${at % 10})`;
  const labelTitle = (name) => (name === RIGHT.name ? RIGHT.title : (errorOf[name]?.title ?? name));
  const labelColour = (name) => (name === RIGHT.name ? RIGHT.colour : (errorOf[name]?.colour ?? "var(--faint)"));
  /** Return what became of an annotated triplet, in words. */
  const fateTitle = (fate) => {
    if (fate === "true_positive") return "Found";
    return fate === "missed_gt" ? "Missed" : labelTitle(fate);
  };

  // ---------------------------------------------------------------- state

  const START = {
    split: "full", error: "", class: "", search: "", slice: "", cell: "", score: "", columns: "",
    by: "", image: "", pair: "", open: "", a: String(known[0] ?? 0), b: String(known[1] ?? known[0] ?? 0),
  };
  const FILTERS = ["split", "error", "class", "search", "slice", "cell", "score"];
  const state = { ...START };

  /** Read the state from the hash, as far as it is valid; a hash may contain anything. */
  function fromHash() {
    const given = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const key of Object.keys(START)) state[key] = given.get(key) ?? START[key];
    const fits = {
      split: (key) => data.splits.some((split) => split.key === key),
      error: (name) => name in errorOf || name === RIGHT.name,
      class: (number) => classes?.number.includes(Number(number)),
      slice: (row) => Boolean(data.slices?.images[row]),
      cell: (cell) => cell.split(">").every((fate) => data.fates.includes(fate)) && cell.split(">").length === (several ? 2 : 1),
      score: (score) => data.thresholds?.score.includes(Number(score)),
      a: (at) => known.includes(Number(at)),
      b: (at) => known.includes(Number(at)),
      image: (at) => casesOf().images.has(Number(at)),
      pair: (at) => /^\d{1,5}$/.test(at),
    };
    for (const [key, test] of Object.entries(fits)) {
      if (state[key] !== "" && !test(state[key])) state[key] = START[key];
    }
  }

  function toHash(replace) {
    const kept = Object.entries(state).filter(([key, value]) => value !== START[key]);
    const hash = kept.length ? `#${new URLSearchParams(kept)}` : `${location.pathname}${location.search}`;
    if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
  }

  /** Change the state, store it in the hash, and redraw what depends on it. */
  function change(changes, replace = false, gradually = false) {
    Object.assign(state, changes);
    toHash(replace);
    render(gradually);
  }

  const A = () => Number(state.a);
  const B = () => Number(state.b);
  const sides = () => (several && A() !== B() ? [A(), B()] : [A()]);
  const threshold = () => (state.score === "" ? -Infinity : Number(state.score));

  /** Return the classes that pass the filter, as rows of the table. */
  function scope() {
    if (!classes) return [];
    const split = data.splits.find((each) => each.key === state.split)?.classes;
    const among = split ? new Set(split) : null;
    const terms = words(state.search);
    const number = Number(state.class);
    const rows = [];
    for (let row = 0; row < classes.name.length; row += 1) {
      if (state.class !== "" && classes.number[row] !== number) continue;
      if (among && !among.has(row)) continue;
      if (!terms.every((term) => searched[row].includes(term))) continue;
      rows.push(row);
    }
    return rows;
  }

  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const searched = classes ? classes.name.map((name) => name.toLowerCase().replaceAll("_", " ")) : [];
  const sliceImages = () => {
    if (state.slice === "") return null;
    const inside = data.slices.images[Number(state.slice)];
    return new Set([...data.images.name.keys()].filter((at) => inside[at] === "1"));
  };

  function scopeTitle(rows) {
    if (state.class !== "") return rows.length ? classes.name[rows[0]] : "no class";
    const title = data.splits.find((each) => each.key === state.split)?.title ?? "";
    const found = state.search ? ` with “${state.search}”` : "";
    if (state.split === "full" && !found) return "all classes";
    return `${plural(rows.length, "class", "classes")}${state.split === "full" ? "" : ` of ${title}`}${found}`;
  }

  const CLASSES = ["split", "class", "search"];
  const isOracle = (error) => error in errorOf;
  // The filters that each part follows, and the errors that it can show; its heading names exceptions.
  const FOLLOWS = {
    costs: [CLASSES, isOracle],
    annotated: [[...CLASSES, "slice", "cell"], (error) => data.fates.includes(error)],
    errors: [CLASSES, isOracle],
    cases: [FILTERS, () => true],
    classes: [[...CLASSES, "cell"], isOracle],
    images: [[...CLASSES, "slice", "cell"], (error) => error in data.images.models[A()]],
    curves: [CLASSES, isOracle],
    scores: [[...CLASSES, "score"], (error) => labels.slice(0, -1).includes(error)],
  };
  const follows = (part, key) => (key === "error" ? FOLLOWS[part][1](state.error) : FOLLOWS[part][0].includes(key));
  const NAMED = {
    cell: () => state.cell.split(">").map(fateTitle).join(" → "),
    error: () => labelTitle(state.error),
    slice: () => data.slices.columns[0].values[Number(state.slice)],
    score: () => `scores of ${shownScore(Number(state.score))} or more`,
  };

  /** Name in the heading of each part what it shows: the filters that it follows, or the whole data set. */
  function drawHeadings() {
    const active = FILTERS.filter((key) => state[key] !== START[key]);
    const ofClass = CLASSES.some((key) => active.includes(key)) && scopeTitle(scope());
    for (const part of Object.keys(FOLLOWS)) {
      const place = byId(part)?.querySelector(".scope");
      if (!place) continue;
      const followed = active.filter((key) => follows(part, key));
      const named = followed.filter((key) => NAMED[key]).map((key) => NAMED[key]());
      if (ofClass) named.push(ofClass);
      const whole = followed.length < active.length ? `${named.length ? ", in the" : ","} whole data set` : "";
      place.textContent = `${named.length ? `: ${named.join(", ")}` : ""}${whole}`;
    }
  }

  // ---------------------------------------------------------------- charts

  const LOOK = { background: "transparent", color: "inherit", fontFamily: "inherit", fontSize: "12px" };

  /** Draw a chart in its place, as wide as the place is. */
  function chart(place, title, options) {
    const width = Math.max(220, Math.floor(place.clientWidth || 300));
    const made = Plot.plot({ width, style: LOOK, className: "chart", ...options(width) });
    const svg = made.tagName === "svg" ? made : made.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", title);
    place.replaceChildren(made);
    return svg;
  }

  function legend(place, entries) {
    place.replaceChildren(
      ...entries.map(([title, colour, kind]) => {
        const swatch = element("span", { class: `swatch ${kind ?? ""}` });
        swatch.style.setProperty("--error", colour);
        return element("span", { class: "entry" }, swatch, title);
      })
    );
  }

  /** Check whether single classes are chosen, rather than a group whose mean is known. */
  const ofClasses = () => Boolean(classes) && (state.class !== "" || state.search !== "");

  /** Return what an error costs a model in the given classes, in hundredths: ΔmAP of the group, or mean ΔAP. */
  function costOf(at, name, rows) {
    if (!ofClasses()) return models[at].delta[name]?.[state.split] ?? null;
    const found = classes.models[at]?.delta[name];
    const defined = found ? rows.map((row) => found[row]).filter((each) => each !== null) : [];
    return defined.length ? defined.reduce((sum, each) => sum + each, 0) / defined.length : null;
  }

  /** Draw ΔmAP of each error for all models, or the mean ΔAP under a filter by class. */
  function drawBars() {
    const place = byId("bars");
    if (!place) return;
    const rows = scope();
    const single = ofClasses();
    const which = several ? models.map((model, at) => at) : [0];
    const value = (at, name) => costOf(at, name, rows);
    const made = errors.flatMap((error) =>
      which.map((at) => ({
        error: error.name, title: error.title, model: models[at].label, at, total: error.kind === "total",
        value: value(at, error.name) === null ? null : value(at, error.name) / 100,
        pairs: single ? null : (models[at].found_pairs[error.name]?.[state.split] ?? null),
        interval: single ? null : (models[at].delta_intervals[error.name]?.[state.split] ?? null),
        colour: several ? modelColour(at) : error.colour,
      }))
    ).filter((each) => each.value !== null);
    const what = single ? `${rows.length > 1 ? "Mean ΔAP" : "ΔAP"}, points` : "ΔmAP, points";
    byId("bars-title").textContent = what;
    const parts = [made.filter((each) => !each.total), made.filter((each) => each.total)];
    const narrow = innerWidth < 704;
    const thick = several ? narrow ? (models.length < 4 ? 11 : models.length < 8 ? 5 : 4) : Math.max(5, 16 - 2 * models.length) : narrow ? 14 : 20;
    const costs = (each) => {
      const cost = shown(Math.round(100 * each.value), "delta");
      const other = each.pairs === null ? cost : shown(each.pairs, "delta");
      return other === cost ? [cost, ""] : [cost, ` (${other} on found pairs)`];
    };
    const tip = (each) => `${each.title}${several ? `, ${each.model}` : ""}: ${costs(each)[0]}${bounds(each.interval, "delta")}${costs(each)[1]}`;
    parts.forEach((part, number) => {
      const box = place.children[number];
      box.hidden = !part.length;
      if (!part.length) return;
      const heads = [...new Set(part.map((each) => each.title))];
      const svg = chart(box, what, (width) => ({
        marginLeft: 104, marginRight: 44, marginTop: 2, marginBottom: 20,
        height: 22 + heads.length * (which.length * thick + (narrow ? 5 : 8)),
        width,
        color: { type: "identity" },
        x: { label: null, grid: true, nice: true, ticks: 5, insetRight: several || narrow ? 0 : 110 },
        y: { axis: null, domain: which, padding: 0.08 },
        fy: { label: null, domain: heads, padding: 0.16 },
        marks: [
          Plot.barX(part, {
            x: "value", y: "at", fy: "title", fill: "colour", title: tip,
            fillOpacity: (each) => (isOracle(state.error) && state.error !== each.error ? 0.3 : 1),
            stroke: "currentColor", strokeWidth: 0.5,
          }),
          ...[["var(--ground)", 4], ["currentColor", 1.5]].map(([stroke, strokeWidth]) => Plot.ruleY(part.filter((each) => each.interval), {
            x1: (each) => each.interval[0] / 100, x2: (each) => each.interval[1] / 100, y: "at", fy: "title", stroke, strokeWidth,
          })),
          ...(which.length <= 3 ? [Plot.text(part, {
            x: (each) => Math.max(each.value, (each.interval?.[1] ?? 0) / 100, 0), y: "at", fy: "title", dx: 4, textAnchor: "start",
            fontSize: thick < 13 ? 9.5 : 11, text: (each) => costs(each).slice(0, several || narrow ? 1 : 2).join(""),
          })] : []),
          Plot.ruleX([0]),
        ],
      }));
      for (const bar of svg.querySelectorAll('[aria-label="bar"] rect')) bar.dataset.error = part[bar.__data__]?.error;
      for (const text of svg.querySelectorAll('[aria-label="fy-axis tick label"] text')) {
        text.dataset.error = part.find((each) => each.title === text.textContent)?.error;
      }
      svg.addEventListener("click", (event) => {
        const error = event.target.dataset?.error;
        if (error) change({ error: state.error === error ? "" : error, cell: "" });
      });
    });
    legend(byId("bars-legend"), several ? models.map((model, at) => [model.label, modelColour(at)]) : []);
  }

  // ---------------------------------------------------------------- what became of the annotated

  const triplets = data.annotations;
  const fateAt = (at, triplet) => triplets.models[at].charCodeAt(triplet) - 48;

  function drawMatrix() {
    const place = byId("matrix");
    if (!place) return;
    const inside = new Set(scope());
    const images = sliceImages();
    const [one, other] = [A(), several ? B() : null];
    const size = data.fates.length;
    const counts = Array.from({ length: size }, () => new Array(size).fill(0));
    let whole = 0;
    for (let at = 0; at < triplets.class.length; at += 1) {
      if (!inside.has(triplets.class[at]) || (images && !images.has(triplets.image[at]))) continue;
      counts[fateAt(one, at)][other === null ? 0 : fateAt(other, at)] += 1;
      whole += 1;
    }
    const most = Math.max(1, ...counts.flatMap((row, from) => row.filter((count, to) => from !== to || other === null)));
    const button = (from, to) => {
      const cell = other === null ? data.fates[from] : `${data.fates[from]}>${data.fates[to]}`;
      const count = counts[from][to];
      const said = other === null
        ? `${fateTitle(data.fates[from])}: ${count}`
        : `${models[one].label}: ${fateTitle(data.fates[from])}; ${models[other].label}: ${fateTitle(data.fates[to])}: ${count}`;
      const aside = data.fates.includes(state.error) && ![data.fates[from], ...(other === null ? [] : [data.fates[to]])].includes(state.error);
      const made = element("button", { type: "button", class: aside ? "aside" : null, "data-cell": cell, "aria-pressed": String(state.cell === cell), title: said, "aria-label": said }, count ? grouped.format(count) : "·");
      const same = from === to && other !== null;
      const share = Math.round((other === null ? 35 : 70) * Math.sqrt(count / most));
      const hue = to === 0 ? "var(--gain)" : from === 0 ? "var(--loss)" : "var(--faint)";
      made.style.background = same || !count ? "" : `color-mix(in srgb, ${other === null ? labelColour(data.fates[from]) : hue} ${share}%, var(--ground))`;
      return element("td", { class: same ? "same" : null }, made);
    };
    const total = (value) => element("td", { class: "sum" }, grouped.format(value));
    const heads = data.fates.map((fate) => element("th", { scope: "col" }, fateTitle(fate)));
    let rows;
    if (other === null) {
      rows = [element("tr", {}, element("th", { scope: "row" }, models[one].label), ...data.fates.map((fate, from) => button(from, 0)), total(whole))];
    } else {
      rows = data.fates.map((fate, from) =>
        element("tr", {}, element("th", { scope: "row" }, fateTitle(fate)), ...data.fates.map((to, at) => button(from, at)), total(counts[from].reduce((a, b) => a + b, 0)))
      );
      const sums = data.fates.map((fate, to) => total(counts.reduce((sum, row) => sum + row[to], 0)));
      rows.push(element("tr", { class: "sums" }, element("th", { scope: "row" }, "All"), ...sums, total(whole)));
    }
    const corner = other === null ? "" : `${models[one].label} ↓\n${models[other].label} →`;
    place.replaceChildren(
      element("table", {},
        element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "corner" }, corner), ...heads, element("th", { scope: "col" }, "All"))),
        element("tbody", {}, ...rows))
    );
    const found = counts[0][0];
    const onlyOne = counts[0].reduce((a, b) => a + b, 0) - found;
    const onlyOther = counts.reduce((sum, row) => sum + row[0], 0) - found;
    byId("matrix-words").textContent = other === null
      ? `${plural(whole, "annotated triplet")} of ${scopeTitle([...inside])}.`
      : `${plural(whole, "annotated triplet")} of ${scopeTitle([...inside])}: both find ${grouped.format(found)}, only ${models[one].label} ${grouped.format(onlyOne)}, only ${models[other].label} ${grouped.format(onlyOther)}.`;
  }

  // ---------------------------------------------------------------- precision against recall

  const LEVELS = 50;

  /** Return a model's curve for a class, or the mean over several classes, after an oracle ("" for none). */
  function curve(at, oracle, rows) {
    const found = data.curves[at]?.[oracle];
    if (!found) return [];
    const { start, recall, precision } = found;
    const undefinedFor = oracle ? classes.models[at].delta[oracle] : classes.models[at].ap;
    const counted = rows.filter((row) => classes.annotated[row] > 0 && undefinedFor?.[row] !== null);
    if (counted.length === 1) {
      const [row] = counted;
      const points = [];
      for (let corner = start[row]; corner < start[row + 1]; corner += 1) {
        if (!points.length) points.push({ recall: 0, precision: precision[corner] / data.fine });
        points.push({ recall: recall[corner] / data.fine, precision: precision[corner] / data.fine });
      }
      if (points.length) points.push({ recall: points.at(-1).recall + 1e-6, precision: 0 });
      return points;
    }
    const sums = new Float64Array(LEVELS + 1);
    for (const row of counted) {
      let corner = start[row];
      for (let level = 0; level <= LEVELS; level += 1) {
        while (corner < start[row + 1] && recall[corner] * LEVELS < level * data.fine) corner += 1;
        if (corner === start[row + 1]) break;
        sums[level] += precision[corner] / data.fine;
      }
    }
    return counted.length ? Array.from(sums, (sum, level) => ({ recall: level / LEVELS, precision: sum / counted.length })) : [];
  }

  function drawCurves() {
    const place = byId("curves-grid");
    if (!place) return;
    const rows = scope();
    const one = state.error && state.error !== RIGHT.name ? [errorOf[state.error]] : errors;
    const panels = [...(several || one.length > 1 ? [null] : []), ...one];
    place.classList.toggle("few", panels.length < 3);
    while (place.children.length > panels.length) place.lastChild.remove();
    while (place.children.length < panels.length) {
      place.append(element("figure", {}, element("figcaption"), element("div")));
    }
    const lone = state.class !== "";
    panels.forEach((error, number) => {
      const [caption, box] = place.children[number].children;
      caption.textContent = error ? `After: ${error.title}` : "Before any repair";
      const which = error ? sides() : known;
      const lines = which.flatMap((at) => [
        { at, after: false, points: curve(at, "", rows) },
        ...(error ? [{ at, after: true, points: curve(at, error.name, rows) }] : []),
      ]);
      chart(box, `Precision against recall, ${caption.textContent}, ${scopeTitle(rows)}`, (width) => ({
        width, height: Math.min(Math.round(width * 0.72), 360), marginLeft: 30, marginBottom: 22, marginTop: 8, marginRight: 10,
        x: { domain: [0, 1], label: null, ticks: 5, grid: true },
        y: { domain: [0, 1], label: null, ticks: 5, grid: true },
        marks: lines.map((line) =>
          Plot.line(line.points, {
            x: "recall", y: "precision", curve: lone ? "step-before" : "linear", clip: "frame",
            stroke: several ? modelColour(line.at) : line.after ? labelColour(error.name) : "currentColor",
            strokeWidth: line.after ? 1.4 : 2, strokeDasharray: line.after ? "5 3" : null,
            strokeOpacity: error && !line.after ? 0.55 : 1,
          })
        ),
      }));
    });
    const entries = several ? known.map((at) => [models[at].label, modelColour(at), "line"]) : [[models[0].label, "currentColor", "line"]];
    legend(byId("curves-legend"), [...entries, ["after the repair", "currentColor", "dashed"]]);
    const mean = lone ? " Precision (upwards) against recall." : " At each recall (to the right), the mean over the classes (upwards) of the highest precision at this or a higher recall; 0 for a class that does not reach this recall.";
    byId("curves-words").textContent = `${scopeTitle(rows)[0].toUpperCase()}${scopeTitle(rows).slice(1)}.${mean}${several && known.length > 2 ? " Repairs are shown for the two models chosen above." : ""}`;
  }

  // ---------------------------------------------------------------- score threshold

  /** Add up the predictions of each label at or above each threshold, over the classes in scope. */
  function keptCounts(at, rows) {
    const steps = data.thresholds.score.length;
    const found = data.thresholds.models[at];
    return found?.map((counts) => {
      const sums = new Array(steps).fill(0);
      for (const row of rows) {
        for (let step = 0; step < steps; step += 1) sums[step] += counts[row * steps + step];
      }
      return sums;
    });
  }

  let operating = [];

  function countThresholds() {
    const rows = scope();
    const annotated = rows.reduce((sum, row) => sum + classes.annotated[row], 0);
    operating = known.filter((at) => data.thresholds.models[at]).map((at) => {
      const counts = keptCounts(at, rows);
      const right = counts[0];
      const all = right.map((_, step) => counts.reduce((sum, each) => sum + each[step], 0));
      const f1 = right.map((found, step) => (annotated + all[step] ? (2 * found) / (annotated + all[step]) : 0));
      return { at, counts, right, all, annotated, f1, best: f1.indexOf(Math.max(...f1)) };
    });
  }

  /** Check whether the filter asks for another error of predictions. */
  const asideLabel = (label) => labels.slice(0, -1).includes(state.error) && label !== state.error;
  const step = () => (state.score === "" ? 0 : data.thresholds.score.indexOf(Number(state.score)));

  function drawThresholds() {
    if (!byId("threshold-lines")) return;
    countThresholds();
    const scores = data.thresholds.score;
    const tick = (at) => (scores[at] === undefined ? "" : shownScore(scores[at]));
    const x = { label: "Lowest score, spaced by quantiles of all predictions and of the true positives", labelArrow: "none", ticks: 6, tickFormat: tick, domain: [0, scores.length - 1] };
    const which = operating.filter((each) => sides().includes(each.at));
    const lines = which.flatMap(({ at, right, all, annotated, f1 }) => [
      ["precision", right.map((found, step) => (all[step] ? found / all[step] : NaN)), null],
      ["recall", right.map((found) => (annotated ? found / annotated : NaN)), "6 3"],
      ["F1", f1, "2 3"],
    ].map(([name, values, dash]) => ({ at, name, dash, points: values.map((value, step) => ({ step, value })) })));
    const margins = { marginLeft: 38, marginRight: 12, marginTop: 8, marginBottom: 34, height: 240 };
    chart(byId("threshold-lines"), "Precision, recall and F1 against the score threshold", (width) => ({
      ...margins, width, x, y: { domain: [0, 1], grid: true, ticks: 5, label: null },
      marks: [
        ...lines.map((line) => Plot.line(line.points, {
          x: "step", y: "value", stroke: several ? modelColour(line.at) : "currentColor", strokeDasharray: line.dash, strokeWidth: 1.8,
        })),
        Plot.ruleX([step()], { className: "mark", stroke: "var(--accent)", strokeWidth: 2 }),
      ],
    }));
    legend(byId("threshold-legend"), [
      ...which.filter(() => several).map(({ at }) => [models[at].label, modelColour(at), "line"]),
      ["precision", "currentColor", "line"], ["recall", "currentColor", "dashed"], ["F1", "currentColor", "dotted"],
    ]);
    const first = which[0];
    const shares = first ? first.counts.flatMap((counts, label) => counts.flatMap((count, step) =>
      first.all[step] ? [{ step, label: labels[label], share: count / first.all[step] }] : [])) : [];
    const least = first ? first.all.findIndex((all) => all <= first.annotated) : -1;
    chart(byId("threshold-shares"), "Share of each error among the predictions from the threshold on", (width) => ({
      ...margins, width, x, y: { domain: [0, 100], percent: true, ticks: 5, label: null }, color: { type: "identity" },
      marks: [
        Plot.areaY(shares, Plot.stackY({ x: "step", y: "share", z: "label", fill: (each) => labelColour(each.label), fillOpacity: (each) => (asideLabel(each.label) ? 0.3 : 1), stroke: "var(--ground)", strokeWidth: 0.5 })),
        ...(least > 0 ? [Plot.ruleX([least], { stroke: "currentColor", strokeDasharray: "4 3" })] : []),
        Plot.ruleX([step()], { className: "mark", stroke: "var(--accent)", strokeWidth: 2 }),
      ],
    }));
    legend(byId("shares-legend"), first ? labels.slice(0, -1).map((label) => [labelTitle(label), labelColour(label)]) : []);
    byId("shares-title").textContent = first ? `What the predictions of ${models[first.at].label} with at least this score are, %` : "";
    const slider = byId("threshold");
    slider.max = scores.length - 1;
    slider.value = step();
    drawOperating();
  }

  function drawOperating() {
    if (!byId("threshold")) return;
    const at = step();
    const score = data.thresholds.score[at];
    const all = state.score === "";
    byId("threshold-score").textContent = all ? "all predictions" : `scores of ${shownScore(score)} or more`;
    byId("threshold").setAttribute("aria-valuetext", byId("threshold-score").textContent);
    byId("threshold").value = at;
    const cells = (each) => [
      shown(each.all[at], "count"), shown(ratio(each.right[at], each.all[at]), "percent"),
      shown(ratio(each.right[at], each.annotated), "percent"), shown(ratio(2 * each.right[at], each.annotated + each.all[at]), "percent"),
    ];
    byId("operating").replaceChildren(...operating.map((each) => {
      const best = data.thresholds.score[each.best];
      const button = element("button", { type: "button", "data-score": best }, `${shownScore(best)}: F1 ${shown(Math.round(1e4 * each.f1[each.best]), "percent")}`);
      return element("tr", {}, element("th", { scope: "row" }, models[each.at].label), ...cells(each).map((text) => element("td", {}, text)), element("td", {}, button));
    }));
    const width = data.thresholds.score.length - 1;
    for (const id of ["threshold-lines", "threshold-shares"]) {
      const svg = byId(id).querySelector("svg");
      const rule = svg?.querySelector("g.mark line, line.mark");
      if (!rule) continue;
      const total = Number(svg.getAttribute("width"));
      const x = 38 + ((total - 38 - 12) * at) / Math.max(1, width);
      rule.setAttribute("x1", x);
      rule.setAttribute("x2", x);
    }
  }

  // ---------------------------------------------------------------- cases

  let prepared = null;

  /** Index the cases once: predictions and annotated triplets by image. */
  function casesOf() {
    if (prepared) return prepared;
    const found = data.cases;
    prepared = { images: new Map(), of: [], annotated: [], hits: [] };
    if (!found) return prepared;
    found.images.image.forEach((image, at) => prepared.images.set(image, at));
    prepared.annotated = found.images.image.map(() => []);
    found.annotated.image.forEach((image, at) => prepared.annotated[image].push(at));
    models.forEach((model, at) => {
      const mine = found.models[at];
      const lists = found.images.image.map(() => []);
      const hits = new Map();
      mine?.image.forEach((image, row) => {
        lists[image].push(row);
        const meant = mine.attempts[row];
        // A true positive comes before predictions that merely attempt the triplet.
        if (meant >= 0 && (!hits.has(meant) || mine.label[row] === 0)) hits.set(meant, row);
      });
      prepared.of.push(lists);
      prepared.hits.push(hits);
    });
    return prepared;
  }

  const boxAt = (at) => (at < 0 ? null : data.cases.boxes.slice(4 * at, 4 * at + 4));
  const scoreAt = (at, row) => data.cases.models[at].score?.[row] ?? null;
  const over = (at, row) => (scoreAt(at, row) ?? Infinity) >= threshold();

  /** Check whether cases are annotated triplets, rather than predictions. */
  function ofTriplets() {
    const error = state.error;
    const kind = error === RIGHT.name ? "prediction" : errorOf[error]?.kind;
    return Boolean(state.cell) || !(kind === "prediction" || error === "false_positive" || (!error && !several));
  }

  /** Check whether the fates of an annotated triplet under the models pass the filter. */
  function fateFits(triplet, which) {
    const fates = (state.cell && several ? [A(), B()] : which).map((model) => fateAt(model, triplet));
    if (state.cell) {
      const cell = state.cell.split(">").map((fate) => data.fates.indexOf(fate));
      return fates.every((fate, side) => fate === cell[side]);
    }
    if (state.error === "missed_gt") return fates.some((fate) => data.fates[fate] === "missed_gt");
    if (state.error === "false_negative") return fates.some((fate) => fate !== 0);
    if (state.error) return false;
    return fates.some((fate) => fate === 0) && fates.some((fate) => fate !== 0);
  }

  /** Return the labels of predictions that pass the filter: all labels of errors, or one label. */
  const wantedLabels = () =>
    state.error && state.error !== "false_positive" ? [state.error] : labels.slice(1, -1);

  /** Count all cases in the data, drawn or not; null if the filters together leave the number unknown. */
  function countCases() {
    const rows = scope();
    const images = sliceImages();
    const which = sides().filter((at) => data.cases.models[at]);
    if (ofTriplets()) {
      if (state.score !== "") return null;
      const inside = new Set(rows);
      return triplets.class.reduce((sum, row, at) =>
        sum + (inside.has(row) && (!images || images.has(triplets.image[at])) && fateFits(at, which) ? 1 : 0), 0);
    }
    if (images && (state.score !== "" || rows.length < classes.name.length)) return null;
    const sum = (values, places) => places.reduce((total, place) => total + values[place], 0);
    const count = (at, label) => {
      if (images) return sum(data.images.models[at][label], [...images]);
      if (state.score === "") return sum(classes.models[at][label], rows);
      const steps = data.thresholds.score.length;
      return sum(data.thresholds.models[at][labels.indexOf(label)], rows.map((row) => row * steps + step()));
    };
    return which.reduce((total, at) => total + wantedLabels().reduce((all, label) => all + count(at, label), 0), 0);
  }

  /** List the cases that pass the filter, each for a prediction or an annotated triplet. */
  function listed() {
    const found = casesOf();
    const inside = new Set(scope());
    const images = sliceImages();
    const which = sides().filter((at) => data.cases.models[at]);
    const kept = (image) => !images || images.has(data.cases.images.image[image]);
    const list = [];
    if (ofTriplets()) {
      const { triplet, image } = data.cases.annotated;
      triplet.forEach((place, at) => {
        if (!inside.has(triplets.class[place]) || !kept(image[at]) || !fateFits(place, which)) return;
        const rows = which.map((model) => found.hits[model].get(at) ?? -1);
        if (rows.some((row, side) => row >= 0 && !over(which[side], row))) return;
        const scores = rows.map((row, side) => (row < 0 ? -1 : (scoreAt(which[side], row) ?? 0)));
        const told = which.some((model) => data.cases.models[model].missed[at] !== undefined);
        list.push({ triplet: at, image: image[at], rows, rank: Math.max(...scores) + (told ? 0.5 : 0) });
      });
    } else {
      const wanted = new Set(wantedLabels());
      which.forEach((model) => {
        const mine = data.cases.models[model];
        mine.image.forEach((image, row) => {
          if (!wanted.has(labels[mine.label[row]]) || !inside.has(mine.class[row]) || !kept(image) || !over(model, row)) return;
          list.push({ model, row, image, rank: scoreAt(model, row) ?? -row });
        });
      });
    }
    list.sort((one, other) => other.rank - one.rank);
    if (list.length <= CASES) return list;
    const seen = new Map();
    const first = [];
    const later = [];
    for (const each of list) {
      const number = (seen.get(each.image) ?? 0) + 1;
      seen.set(each.image, number);
      (number <= PER_IMAGE ? first : later).push(each);
    }
    return [...first, ...later];
  }

  const area = (box) => Math.max(0, box[2] - box[0]) * Math.max(0, box[3] - box[1]);
  function iou(one, other) {
    if (!one || !other) return one || other ? 0 : 1;
    const met = area([Math.max(one[0], other[0]), Math.max(one[1], other[1]), Math.min(one[2], other[2]), Math.min(one[3], other[3])]);
    return met / Math.max(1, area(one) + area(other) - met);
  }

  /** Find what another model predicts for the same annotated triplet or the same boxes. */
  function counterpart(model, row, other) {
    const mine = data.cases.models[model];
    const theirs = data.cases.models[other];
    if (mine.annotated[row] >= 0) {
      const hit = casesOf().hits[other].get(mine.annotated[row]);
      if (hit !== undefined && over(other, hit)) return hit;
    }
    let [best, found] = [0.25, -1];
    for (const each of casesOf().of[other][mine.image[row]]) {
      if (theirs.class[each] !== mine.class[row] || !over(other, each)) continue;
      const near = Math.min(iou(boxAt(mine.human[row]), boxAt(theirs.human[each])), iou(boxAt(mine.object[row]), boxAt(theirs.object[each])));
      if (near > best) [best, found] = [near, each];
    }
    return found;
  }

  /** Return the part of an image that shows the given boxes, at least a third of the image. */
  function viewOf(image, boxes, whole) {
    const [width, height] = [data.cases.images.width[image], data.cases.images.height[image]];
    const all = boxes.filter(Boolean);
    const edge = all.length ? [Math.min(...all.map((b) => b[0])), Math.min(...all.map((b) => b[1])), Math.max(...all.map((b) => b[2])), Math.max(...all.map((b) => b[3]))] : [0, 0, 100, 75];
    const pad = 0.3 * Math.max(edge[2] - edge[0], edge[3] - edge[1], 20);
    const full = width && height ? [0, 0, width, height] : [edge[0] - pad, edge[1] - pad, edge[2] + pad, edge[3] + pad];
    if (whole || !width || !height) return { view: full, enlarged: 1, framed: Boolean(width && height) };
    let wide = Math.max(edge[2] - edge[0] + 2 * pad, width / 3);
    let high = Math.max(edge[3] - edge[1] + 2 * pad, height / 3);
    const shape = width / height;
    [wide, high] = wide / high > shape ? [wide, wide / shape] : [high * shape, high];
    const scale = Math.max(1, width / wide);
    if (scale < 1.25) return { view: full, enlarged: 1, framed: true };
    const left = Math.min(Math.max((edge[0] + edge[2] - wide) / 2, 0), width - wide);
    const top = Math.min(Math.max((edge[1] + edge[3] - high) / 2, 0), height - high);
    return { view: [left, top, left + wide, top + high], enlarged: scale, framed: true };
  }

  const addressOf = (image) => {
    if (Array.isArray(pictures)) return pictures[image] ?? null;
    return pictures ? `picture/${data.cases.images.image[image]}` : null;
  };

  /** Draw pairs of boxes over the picture of their image, or in an empty frame. */
  function sketch(image, pairs, area, alt) {
    const [left, top, right, bottom] = area.view;
    const unit = Math.max((right - left) / 300, (bottom - top) / 220);
    const svg = drawn("svg", { viewBox: `${left} ${top} ${right - left} ${bottom - top}`, role: "img", "aria-label": alt });
    const { width, height } = { width: data.cases.images.width[image], height: data.cases.images.height[image] };
    const address = width && height ? addressOf(image) : null;
    svg.append(drawn("rect", { class: area.framed ? "frame" : "frame open", x: left, y: top, width: right - left, height: bottom - top }));
    if (address) svg.append(drawn("image", { href: address, x: 0, y: 0, width, height, preserveAspectRatio: "none" }));
    for (const { human, object, kind, colour, faint } of pairs) {
      const group = drawn("g", { class: `${kind}${faint ? " faint" : ""}` });
      group.style.setProperty("--error", colour ?? "var(--line)");
      group.style.setProperty("--unit", unit);
      const boxes = [human, object].map(boxAt);
      const shapes = boxes.filter(Boolean).map((box) => ["rect", { x: box[0], y: box[1], width: Math.max(1, box[2] - box[0]), height: Math.max(1, box[3] - box[1]) }]);
      if (boxes[0] && boxes[1]) {
        const [from, to] = boxes.map((box) => [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]);
        shapes.push(["line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }]);
      }
      for (const [name, where] of shapes) {
        group.append(drawn(name, { ...where, class: "casing" }), drawn(name, where));
      }
      // One pair with letters is enough.
      const lettered = kind === "predicted" || !pairs.some((each) => each.kind === "predicted");
      boxes.forEach((box, role) => {
        if (!box || faint || !lettered) return;
        const size = 11 * unit;
        const x = role ? Math.min(box[2], right) - 0.85 * size : Math.max(box[0], left) + 0.25 * size;
        const y = role ? Math.min(box[3], bottom) - 0.3 * size : Math.max(box[1], top) + size;
        group.append(drawn("text", { x, y, "font-size": size }, role ? "O" : "H"));
      });
      svg.append(group);
    }
    return svg;
  }

  /** Describe in a line what a model does in a case, followed by the sentence about it, if any. */
  function saidOf(model, row, fate, at) {
    const lines = [];
    if (row >= 0) {
      const mine = data.cases.models[model];
      const name = labels[mine.label[row]];
      const swatch = element("span", { class: "swatch" });
      swatch.style.setProperty("--error", labelColour(name));
      const score = scoreAt(model, row);
      lines.push(element("p", {}, swatch, element("strong", {}, labelTitle(name)), ` ${classes.name[mine.class[row]]}`, score === null ? "" : element("span", { class: "score" }, ` ${shownScore(score)}`)));
      if (mine.sentences[row]) lines.push(element("p", {}, mine.sentences[row]));
    } else {
      const swatch = element("span", { class: "swatch" });
      const lost = fate === "missed_gt" || fate === undefined;
      swatch.style.setProperty("--error", lost ? labelColour("missed_gt") : labelColour(fate));
      lines.push(element("p", {}, swatch, element("strong", {}, fate === undefined ? "Nothing like it" : fateTitle(fate))));
      if (at !== undefined && data.cases.models[model].missed[at]) lines.push(element("p", {}, data.cases.models[model].missed[at]));
    }
    return lines;
  }

  const pairOf = (model, row) => ({
    human: data.cases.models[model].human[row], object: data.cases.models[model].object[row],
    kind: "predicted", colour: labelColour(labels[data.cases.models[model].label[row]]),
  });
  const annotatedPair = (at) => ({ human: data.cases.annotated.human[at], object: data.cases.annotated.object[at], kind: "annotated" });
  const imageName = (image) => data.images.name[data.cases.images.image[image]];

  /** Return the content of a case: the annotated triplet, and what each model predicts for it. */
  function partsOf(each) {
    const which = sides().filter((at) => data.cases.models[at]);
    const meant = each.triplet ?? data.cases.models[each.model].annotated[each.row];
    const rows = each.rows ?? which.map((at) => (at === each.model ? each.row : counterpart(each.model, each.row, at)));
    const annotatedName = meant >= 0 ? classes.name[triplets.class[data.cases.annotated.triplet[meant]]] : null;
    const name = each.triplet !== undefined ? annotatedName : classes.name[data.cases.models[each.model].class[each.row]];
    return { which, meant, rows, name, annotatedName };
  }

  /** Draw one pair as each model predicts it, side by side, with a description. */
  function sidesOf(each, whole) {
    const { which, meant, rows, name } = partsOf(each);
    const annotated = meant >= 0 ? [annotatedPair(meant)] : nearest(each);
    const pairs = which.map((at, side) => (rows[side] >= 0 ? [pairOf(at, rows[side])] : []));
    const boxes = [...annotated, ...pairs.flat()].flatMap((pair) => [boxAt(pair.human), boxAt(pair.object)]);
    const area = viewOf(each.image, boxes, whole);
    const parts = which.map((at, side) => {
      const fate = meant >= 0 ? data.fates[fateAt(at, data.cases.annotated.triplet[meant])] : undefined;
      const alt = `${name} in ${imageName(each.image)}, ${models[at].label}`;
      return element("div", { class: "side" },
        ...(several ? [element("p", { class: "who" }, models[at].label)] : []),
        sketch(each.image, [...annotated, ...pairs[side]], area, alt),
        ...saidOf(at, rows[side], fate, meant >= 0 ? meant : undefined));
    });
    return { area, sides: element("div", { class: "sides" }, ...parts) };
  }

  function card(each, at) {
    const { name, annotatedName } = partsOf(each);
    const { area, sides: drawnSides } = sidesOf(each, false);
    const enlarged = area.enlarged > 1 ? `, enlarged ${area.enlarged.toFixed(1)} times` : "";
    return element("figure", { class: "case", "data-case": at },
      element("figcaption", {},
        element("button", { type: "button", class: "open", title: "Show all of this image" }, name),
        annotatedName && annotatedName !== name ? element("p", {}, `Annotated: ${annotatedName}`) : ""),
      drawnSides,
      element("p", { class: "image" }, `${imageName(each.image)}${enlarged}`));
  }

  /** Return the annotated pair that an unassigned prediction overlaps most, if it overlaps any. */
  function nearest(each) {
    if (each.row === undefined) return [];
    const mine = data.cases.models[each.model];
    let [best, found] = [0, null];
    for (const at of casesOf().annotated[each.image]) {
      const near = iou(boxAt(mine.human[each.row]), boxAt(data.cases.annotated.human[at])) + iou(boxAt(mine.object[each.row]), boxAt(data.cases.annotated.object[at]));
      if (near > best) [best, found] = [near, at];
    }
    return found === null ? [] : [annotatedPair(found)];
  }

  const BY_PAIR = " They include triplets whose pair nothing localises. Under Errors, in the bars and in the tables, such triplets do not count as missed if a wrong action is assigned to them.";
  let visible = CASES;
  let cases = [];

  function drawCases() {
    const place = byId("cases-list");
    if (!place) return;
    cases = listed();
    visible = CASES;
    moreCases();
  }

  function moreCases() {
    const place = byId("cases-list");
    const shownNow = cases.slice(0, visible);
    place.replaceChildren(...shownNow.map(card));
    const [total, held] = [countCases(), cases.length];
    const [whole, every] = [data.cases.images.image.length, data.images.name.length];
    const pages = [
      ...(whole < every ? [`${grouped.format(whole)} of ${plural(every, "image")}`] : []),
      // The page draws the best predictions of an image, and those that are described in words.
      ...(ofTriplets() ? [] : ["the best predictions of each image, the right ones and those described in words"]),
    ].join(", ");
    let said = total === 0 ? "none" : `${plural(total, "case")}, of which ${grouped.format(shownNow.length)} ${shownNow.length === 1 ? "is" : "are"} shown`;
    if (total === null) said = `${grouped.format(shownNow.length)} of ${grouped.format(held)} that this page holds are shown; with these filters together, the number in the data is unknown`;
    else if (total > held) said += `; this page holds ${held ? grouped.format(held) : "none"} of them${pages ? ` (it holds ${pages})` : ""}`;
    byId("cases-words").textContent = `${caseTitle()}: ${said}.${held && state.error === "missed_gt" && !state.cell ? BY_PAIR : ""}`;
    byId("cases-more").hidden = cases.length <= visible;
    byId("cases-more").textContent = `Show ${Math.min(CASES, cases.length - visible)} more`;
  }

  function caseTitle() {
    const rows = scope();
    let what = several ? "Annotated triplets that only one of the two finds" : "Wrong predictions";
    if (state.error) what = labelTitle(state.error);
    if (state.cell) {
      const fates = state.cell.split(">").map(fateTitle);
      what = several ? `${models[A()].label}: ${fates[0].toLowerCase()}; ${models[B()].label}: ${fates[1].toLowerCase()}` : fates[0];
    }
    const from = state.score === "" ? "" : `, scores of ${shownScore(Number(state.score))} or more`;
    return `${what}, ${scopeTitle(rows)}${from}`;
  }

  /** List the pairs of an image: the annotated pairs, then the other predictions of each model. */
  function pairsIn(image) {
    const which = sides().filter((at) => data.cases.models[at]);
    const held = (model, row) => (row >= 0 && over(model, row) ? row : -1);
    const found = casesOf().annotated[image].map((triplet) => (
      { image, triplet, rows: which.map((model) => held(model, casesOf().hits[model].get(triplet) ?? -1)) }));
    for (const model of which) {
      const side = which.indexOf(model);
      const told = new Set(found.map((each) => each.rows?.[side]));
      for (const row of casesOf().of[model][image]) {
        if (over(model, row) && !told.has(row)) found.push({ image, model, row });
      }
    }
    return found;
  }

  /** Return the hash of a case: its image, and the place of its pair in the image. */
  function placeOf(each) {
    const side = sides().filter((at) => data.cases.models[at]).indexOf(each.model);
    const at = pairsIn(each.image).findIndex((pair) => (each.triplet !== undefined ? pair.triplet === each.triplet
      : (pair.model === each.model && pair.row === each.row) || pair.rows?.[side] === each.row));
    return { image: String(data.cases.images.image[each.image]), pair: String(Math.max(0, at)) };
  }

  /** Show a whole image, one pair at a time. */
  function drawImage() {
    const dialog = byId("image-dialog");
    if (!dialog) return;
    if (state.image === "" || !data.cases) {
      if (dialog.open) dialog.close();
      return;
    }
    const image = casesOf().images.get(Number(state.image));
    const pairs = pairsIn(image);
    const at = Math.min(Number(state.pair), pairs.length - 1);
    byId("image-title").textContent = imageName(image);
    const held = sides().filter((model) => data.cases.models[model]).flatMap((model) => {
      const every = data.images.models[model].predicted[Number(state.image)];
      const here = casesOf().of[model][image].length;
      return here < every ? [` ${several ? `${models[model].label}: ` : ""}${plural(every, "prediction")}, of which ${grouped.format(here)} ${here === 1 ? "is" : "are"} held by this page.`] : [];
    });
    byId("image-words").textContent = `${pairs.length ? `Pair ${at + 1} of ${pairs.length}.` : "Nothing is annotated or predicted here."}${held.join("")}`;
    for (const button of dialog.querySelectorAll("[data-turn]")) button.setAttribute("aria-disabled", String(!pairs[at + Number(button.dataset.turn)]));
    byId("image-body").replaceChildren(pairs.length ? sidesOf(pairs[at], true).sides : sketch(image, [], viewOf(image, [], true), imageName(image)));
    const list = byId("image-pairs");
    const focused = list.contains(document.activeElement);
    list.replaceChildren(...pairs.map((pair, place) => {
      const { which, rows, name, meant } = partsOf(pair);
      const said = pair.triplet !== undefined
        ? ["Annotated: ", name, ", ", which.map((model) => `${several ? `${models[model].label} ` : ""}${fateTitle(data.fates[fateAt(model, data.cases.annotated.triplet[meant])]).toLowerCase()}`).join(", ")]
        : [`${models[pair.model].label}: `, ...saidOf(pair.model, rows[which.indexOf(pair.model)])[0].childNodes];
      return element("li", {}, element("button", { type: "button", "data-pair": place, "aria-current": place === at ? "true" : null }, ...said));
    }));
    const current = list.querySelector("[aria-current]");
    if (focused) current?.focus();
    if (!dialog.open) dialog.showModal();
    if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  }

  /** Show the next or the previous pair of the image. */
  function turnPair(step) {
    const last = pairsIn(casesOf().images.get(Number(state.image))).length - 1;
    const at = Math.min(Number(state.pair), last) + step;
    if (at >= 0 && at <= last) change({ pair: String(at) }, true);
  }

  // ---------------------------------------------------------------- tables

  class Sheet {
    constructor(id, columns, rows, choose) {
      this.box = byId(id);
      this.id = id;
      this.columnsOf = columns;
      this.rowsOf = rows;
      this.chosen = choose;
      this.sorted = null;
      this.page = 0;
      this.box.querySelector("thead").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button) this.sortBy(button.parentElement.dataset.key);
      });
      this.box.querySelector(".pages").addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button && button.getAttribute("aria-disabled") !== "true") this.turn(button.dataset.page);
      });
      this.box.querySelector("tbody").addEventListener("click", (event) => {
        const row = event.target.closest("tr");
        if (row && choose) choose(Number(row.dataset.row));
      });
    }

    /** Rebuild headings and rows according to the state. */
    render() {
      this.columns = this.columnsOf();
      if (!this.columns.some((column) => column.key === this.sorted?.key)) this.sorted = null;
      const cells = this.columns.map((column) => {
        const button = element("button", { type: "button", title: column.about });
        const cell = element("th", { scope: "col", "data-key": column.key, class: isWords(column) ? "words" : null }, button);
        if (column.error) {
          const swatch = element("span", { class: "swatch" });
          swatch.style.setProperty("--error", labelColour(column.error));
          button.append(swatch);
        }
        button.append(column.title);
        return cell;
      });
      const head = this.box.querySelector("thead");
      const focused = head.contains(document.activeElement) ? document.activeElement.parentElement.dataset.key : null;
      head.replaceChildren(element("tr", {}, ...cells));
      if (focused) head.querySelector(`th[data-key="${CSS.escape(focused)}"] button`)?.focus();
      this.renew();
    }

    sortBy(key) {
      const column = this.columns.find((each) => each.key === key);
      const down = this.sorted?.key === key ? !this.sorted.down : !isWords(column);
      this.sorted = { key, down };
      if (this.id === "class-sheet") change({ by: `${down ? "-" : ""}${key}` }, true);
      else this.renew();
    }

    renew() {
      this.rows = this.rowsOf();
      if (this.sorted) this.order();
      this.page = 0;
      this.show();
    }

    order() {
      const { key, down } = this.sorted;
      const column = this.columns.find((each) => each.key === key);
      const compare = isWords(column) ? collator.compare : (one, other) => one - other;
      const way = down ? -1 : 1;
      const values = column.values;
      this.rows = [...this.rows].sort((one, other) => {
        const [a, b] = [values[one] ?? null, values[other] ?? null];
        // Undefined values come last in either direction.
        if (a === null || b === null) return (a === null) - (b === null);
        return way * compare(a, b);
      });
    }

    turn(where) {
      const last = Math.max(0, Math.ceil(this.rows.length / PAGE) - 1);
      this.page = { first: 0, previous: this.page - 1, next: this.page + 1, last }[where];
      this.show();
    }

    show(start = this.page * PAGE, count = PAGE) {
      const made = this.rows.slice(start, start + count).map((row) => {
        const cells = this.columns.map((column) => {
          const name = column.kind === "name";
          const text = shown(column.values[row], column.kind);
          const cell = element(name ? "th" : "td", { scope: name ? "row" : null, class: isWords(column) ? "words" : null, "data-title": column.title });
          if (name && this.chosen) cell.append(element("button", { type: "button", "aria-pressed": String(column.pressed?.(row) ?? false) }, text));
          else cell.textContent = text;
          return cell;
        });
        return element("tr", { "data-row": row }, ...cells);
      });
      const body = this.box.querySelector("tbody");
      const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : null;
      body.replaceChildren(...made);
      if (focused) body.querySelector(`tr[data-row="${focused}"] button`)?.focus();
      for (const cell of this.box.querySelectorAll("thead th")) {
        if (cell.dataset.key === this.sorted?.key) cell.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      }
      const things = this.box.dataset.things;
      const whole = this.columns[0].values.length;
      const fewer = this.rows.length === whole ? "" : `; ${grouped.format(whole)} ${things} in all`;
      this.box.querySelector(".rows").textContent = made.length
        ? `Rows ${grouped.format(start + 1)}–${grouped.format(start + made.length)} of ${grouped.format(this.rows.length)}${fewer}`
        : `None of the ${grouped.format(whole)} ${things} fits.`;
      const ends = [start === 0, start + made.length >= this.rows.length];
      for (const button of this.box.querySelectorAll(".pages button")) {
        // Not `disabled`, which would lose the focus on the last page.
        button.setAttribute("aria-disabled", ["first", "previous"].includes(button.dataset.page) ? ends[0] : ends[1]);
      }
      this.box.querySelector(".pages").hidden = this.rows.length <= PAGE;
    }
  }

  const isWords = (column) => column.kind === "name" || column.kind === "text";
  const less = (one, other) => one.map((value, row) => (value === null || other[row] === null ? null : other[row] - value));
  const counted = () => errors.filter((error) => error.kind === "prediction" || error.kind === "annotation");

  function differenceOf() {
    return data.differences.find((each) => each.labels[0] === models[A()].label && each.labels[1] === models[B()].label);
  }

  function viewsOfClasses() {
    const name = models[A()].label;
    return [
      ...(several ? [["models", "AP of all models"]] : []),
      ["overview", several ? `Overview of ${name}` : "Overview"],
      ["counts", several ? `Numbers of errors of ${name}` : "Numbers of errors"],
      ["deltas", several ? `ΔAP of each oracle, ${name}` : "ΔAP of each oracle"],
      ...(several && differenceOf() ? [["parts", `Difference of ${models[B()].label}, by cause`]] : []),
    ];
  }

  const groupTitles = classes ? classes.name.map((_, row) =>
    data.splits.filter((split) => split.classes?.includes(row)).map((split) => split.title).join(", ")) : [];

  /** Return, for each class, the error whose repair gains most, and the gain, if at least 0.01 points. */
  function costliest(at) {
    const names = errors.filter((error) => error.kind !== "total").map((error) => error.name);
    const delta = classes.models[at].delta;
    const gain = classes.name.map((_, row) => Math.max(...names.map((name) => delta[name]?.[row] ?? -1)));
    return {
      cost: gain.map((value) => (value > 0 ? value : null)),
      name: gain.map((value, row) => {
        if (value > 0) return labelTitle(names.find((each) => delta[each]?.[row] === value));
        // If all triplets of a class are missed, repairing missed triplets leaves it without any.
        const missed = classes.models[at].missed_gt[row];
        return missed > 0 && missed === classes.annotated[row] ? labelTitle("missed_gt") : null;
      }),
    };
  }

  function classColumns() {
    const views = viewsOfClasses();
    const view = state.error && state.error in errorOf ? "error" : views.some(([key]) => key === state.columns) ? state.columns : views[0][0];
    const mine = classes.models[A()];
    const pressed = (row) => state.class === String(classes.number[row]);
    const start = [
      { key: "class", title: "No.", kind: "count", values: classes.number, about: "Number in the data set, from 1." },
      { key: "name", title: "Class", kind: "name", values: classes.name, pressed },
      ...(view === "overview" && data.splits.length > 1 ? [{ key: "group", title: "Group", kind: "text", values: groupTitles }] : []),
      { key: "annotated", title: "Annotated", kind: "count", values: classes.annotated, about: "Annotated triplets." },
    ];
    const found = { key: "true_positive", title: "True positive", kind: "count", values: mine.true_positive, about: "Predictions that find an annotated triplet." };
    const ap = { key: "ap", title: "AP, %", kind: "percent", values: mine.ap, about: "Average precision; none if the mean excludes the class." };
    const delta = (error) => ({ key: `delta_${error.name}`, title: `ΔAP ${error.title}`, kind: "delta", values: mine.delta[error.name] ?? [], about: `Change of AP in points. ${error.definition}`, error: error.name });
    const number = (error, at, key, title) => ({ key, title, kind: "count", values: classes.models[at][error.name], about: error.meaning, error: error.name });
    const ofAll = (make) => known.map((at) => make(at, classes.models[at]));
    if (view === "models") {
      const columns = ofAll((at, model) => ({ key: `ap_${at}`, title: `AP ${models[at].label}`, kind: "percent", values: model.ap }));
      const other = classes.models[B()];
      return [...start, ...columns, ...(A() !== B() ? [{ key: "difference", title: `${models[B()].label} minus ${models[A()].label}`, kind: "delta", values: less(mine.ap, other.ap), about: "Difference in AP, points." }] : [])];
    }
    if (view === "error") {
      const error = errorOf[state.error];
      const countable = error.kind === "prediction" || error.kind === "annotation";
      return [
        ...start,
        ...(countable ? ofAll((at) => number(error, at, at === A() ? error.name : `${error.name}_${at}`, several ? `${error.title} ${models[at].label}` : error.title)) : []),
        ...ofAll((at, model) => ({ key: at === A() ? `delta_${error.name}` : `delta_${error.name}_${at}`, title: several ? `ΔAP ${models[at].label}` : `ΔAP ${error.title}`, kind: "delta", values: model.delta[error.name], about: error.definition, error: error.name })),
        ap,
      ];
    }
    if (view === "counts") return [...start, found, ...counted().map((error) => number(error, A(), error.name, error.title))];
    if (view === "deltas") return [...start, ap, ...errors.map(delta)];
    if (view === "parts") {
      const parts = differenceOf().classes;
      return [...start, { key: "total", title: "Difference in AP", kind: "delta", values: parts.total }, ...labels.slice(0, -1).map((label) => ({ key: `part_${label}`, title: labelTitle(label), kind: "delta", values: parts[label], error: label }))];
    }
    const worst = costliest(A());
    return [
      ...start,
      { key: "predicted", title: "Predicted", kind: "count", values: mine.predicted, about: "Predicted triplets." },
      found, ap,
      { key: "max_recall", title: "Max recall, %", kind: "percent", values: mine.max_recall, about: "Share of the annotated triplets that any prediction finds." },
      { key: "costliest", title: "Costs most", kind: "text", values: worst.name, about: "The kind of error whose repair would raise AP most; none if no single repair raises it." },
      { key: "cost", title: "ΔAP", kind: "delta", values: worst.cost, about: "What repairing that error would add to AP, in points; undefined if all annotated triplets are missed, because AP is undefined without them." },
    ];
  }

  /** Return the annotated triplets in the chosen cell of the matrix. */
  const cellTriplets = () => [...triplets.class.keys()].filter((at) => fateFits(at, sides()));

  function classRows() {
    let rows = scope();
    if (state.class !== "") rows = scopeWithoutClass();
    const error = errorOf[state.error];
    if (error && error.kind !== "own") {
      const has = (row) => known.some((at) => classes.models[at][error.name]?.[row] || classes.models[at].delta[error.name]?.[row]);
      rows = rows.filter(has);
    }
    if (state.cell) {
      const having = new Set(cellTriplets().map((at) => triplets.class[at]));
      rows = rows.filter((row) => having.has(row));
    }
    return rows;
  }

  /** The table keeps its other rows, so that another class is one click away. */
  function scopeWithoutClass() {
    const chosen = state.class;
    state.class = "";
    const rows = scope();
    state.class = chosen;
    return rows;
  }

  function imageColumns() {
    const mine = data.images.models[A()];
    return [
      { key: "image", title: "Image", kind: "name", values: data.images.name },
      { key: "annotated", title: "Annotated", kind: "count", values: data.images.annotated, about: "Annotated triplets." },
      { key: "predicted", title: "Predicted", kind: "count", values: mine.predicted, about: "Predicted triplets." },
      { key: "true_positive", title: "True positive", kind: "count", values: mine.true_positive, about: "Predictions that find an annotated triplet." },
      ...counted().map((error) => ({ key: error.name, title: error.title, kind: "count", values: mine[error.name], about: error.meaning, error: error.name })),
    ];
  }

  function imageRows() {
    const all = state.class === "" && state.search === "" && state.split === "full";
    const inside = all ? null : new Set(scope());
    const slice = sliceImages();
    const wanted = state.cell ? cellTriplets() : inside && [...triplets.class.keys()];
    const with_ = wanted && new Set(wanted.filter((at) => !inside || inside.has(triplets.class[at])).map((at) => triplets.image[at]));
    const values = data.images.models[A()][state.error];
    const terms = words(byId("image-search").value);
    return data.images.name.flatMap((name, at) => {
      const fits = (!slice || slice.has(at)) && (!with_ || with_.has(at)) && (!values || values[at]) && terms.every((term) => name.toLowerCase().includes(term));
      return fits ? [at] : [];
    });
  }

  function drawScatter() {
    const place = byId("scatter");
    if (!place) return;
    const inside = new Set(scopeWithoutClass());
    const rare = new Set(data.splits.find((split) => split.key === "rare")?.classes ?? []);
    const values = classes.models[A()].ap;
    const other = several && A() !== B() ? classes.models[B()].ap : null;
    const points = classes.name.flatMap((name, row) =>
      inside.has(row) && values[row] !== null ? [{ row, name, annotated: classes.annotated[row], ap: values[row] / 100, change: other ? (other[row] - values[row]) / 100 : null, rare: rare.has(row) }] : []);
    // The median of the classes whose number is within a factor of 1.6, of at least five classes.
    const medians = (y) => [...new Set(points.map((each) => each.annotated))].sort((a, b) => a - b).flatMap((annotated) => {
      const near = points.filter((each) => each.annotated >= annotated / 1.6 && each.annotated <= annotated * 1.6).map((each) => each[y]).sort((a, b) => a - b);
      return near.length >= 5 ? [{ annotated, [y]: (near[(near.length - 1) >> 1] + near[near.length >> 1]) / 2 }] : [];
    });
    const draw = (box, y, label, value) => {
      const chosen = (each) => state.class === String(classes.number[each.row]);
      const svg = chart(box, label, (width) => ({
        width, height: Math.min(320, Math.round(width * 0.6)), marginLeft: 40, marginBottom: 34, marginTop: 12,
        x: { type: "log", label: "Annotated triplets", grid: true, labelArrow: "none", ticks: 4, tickFormat: (at) => grouped.format(at) },
        y: { label: null, grid: true, nice: true },
        symbol: { type: "identity" },
        marks: [
          Plot.ruleY([0]),
          Plot.dot(points, {
            x: "annotated", y, symbol: (each) => (each.rare ? "triangle" : "circle"), r: (each) => (chosen(each) ? 7 : 3),
            fill: several ? modelColour(y === "ap" ? A() : B()) : "var(--accent)", fillOpacity: (each) => (state.class && !chosen(each) ? 0.25 : 0.65),
            stroke: (each) => (chosen(each) ? "var(--ink)" : "none"),
            title: (each) => `${each.name}: ${value(each)}; ${each.annotated} annotated`,
          }),
          Plot.line(medians(y), { x: "annotated", y, stroke: "currentColor", strokeWidth: 1.5 }),
        ],
      }));
      for (const dot of svg.querySelectorAll('[aria-label="dot"] > *')) dot.dataset.row = points[dot.__data__]?.row;
      svg.addEventListener("click", (event) => {
        const row = event.target.closest("[data-row]")?.dataset.row;
        if (row !== undefined) chooseClass(Number(row));
      });
    };
    const [first, second] = place.children;
    first.firstElementChild.textContent = `AP of each class${several ? `, ${models[A()].label}` : ""}, %`;
    draw(first.lastElementChild, "ap", "AP of each class against its annotated triplets", (each) => `AP ${each.ap.toFixed(2)}`);
    second.hidden = !other;
    if (other) {
      second.firstElementChild.textContent = `Difference in AP: ${models[B()].label} minus ${models[A()].label}, points`;
      draw(second.lastElementChild, "change", "Difference in AP of each class", (each) => shown(Math.round(100 * each.change), "delta"));
    }
  }

  /** Draw the share of each label among the predictions of the most annotated verbs. */
  function drawProfile() {
    const place = byId("profile");
    if (!place) return;
    const mine = classes.models[A()];
    const verbs = new Map();
    for (const row of scope()) {
      const verb = verbs.get(classes.verb[row]) ?? { annotated: 0, counts: labels.slice(0, -1).map(() => 0) };
      verb.annotated += classes.annotated[row];
      labels.slice(0, -1).forEach((label, at) => (verb.counts[at] += mine[label][row]));
      verbs.set(classes.verb[row], verb);
    }
    const most = [...verbs].filter(([, verb]) => verb.counts.some(Boolean)).sort((one, other) => other[1].annotated - one[1].annotated).slice(0, 16);
    const parts = most.flatMap(([name, verb]) => {
      const all = verb.counts.reduce((a, b) => a + b, 0);
      return verb.counts.map((count, at) => ({ verb: name.replaceAll("_", " "), label: labels[at], share: count / all }));
    });
    byId("profile-title").textContent = `What the predictions of the most annotated verbs are${several ? `, ${models[A()].label}` : ""}`;
    const svg = chart(place, byId("profile-title").textContent, (width) => ({
      width, height: 40 + 19 * most.length, marginLeft: 96, marginBottom: 30, marginTop: 4,
      x: { percent: true, label: null, ticks: 5 }, y: { label: null, domain: most.map(([name]) => name.replaceAll("_", " ")) }, color: { type: "identity" },
      marks: [Plot.barX(parts, Plot.stackX({ x: "share", y: "verb", z: "label", fill: (each) => labelColour(each.label), title: (each) => `${each.verb}, ${labelTitle(each.label)}: ${(100 * each.share).toFixed(1)} %`, inset: 0.5 }))],
    }));
    svg.addEventListener("click", (event) => {
      const text = event.target.tagName === "text" ? event.target.textContent : parts[event.target.__data__]?.verb;
      if (most.some(([name]) => name.replaceAll("_", " ") === text)) change({ search: text, class: "" });
    });
    legend(byId("profile-legend"), labels.slice(0, -1).map((label) => [labelTitle(label), labelColour(label)]));
  }

  // ---------------------------------------------------------------- filter and rendering

  function chooseClass(row) {
    const number = String(classes.number[row]);
    change({ class: state.class === number ? "" : number });
  }

  const sheets = {};
  if (classes) {
    sheets.classes = new Sheet("class-sheet", classColumns, classRows, chooseClass);
    sheets.images = new Sheet("image-sheet", imageColumns, imageRows, data.cases ? (at) => {
      if (casesOf().images.has(at)) change({ image: String(at), pair: "" });
    } : null);
  }
  if (data.slices && byId("slice-sheet")) {
    const made = data.slices.columns.map((column) => ({ ...column, pressed: (row) => state.slice === String(row) }));
    sheets.slices = new Sheet("slice-sheet", () => made, () => [...data.slices.images.keys()], (row) => change({ slice: state.slice === String(row) ? "" : String(row) }));
  }

  function drawFilter() {
    const form = byId("filter");
    if (!form) return;
    for (const name of ["error", "split", "a", "b"]) {
      const choice = form.elements[name];
      if (choice) choice.value = state[name];
    }
    if (form.elements.search && document.activeElement !== form.elements.search) form.elements.search.value = state.search;
    const chips = [];
    const chip = (key, text) => chips.push(element("button", { type: "button", "data-clear": key, title: "Remove this filter" }, text, " ×"));
    if (state.class !== "") chip("class", scopeTitle(scope()));
    if (state.cell !== "") chip("cell", NAMED.cell());
    if (state.slice !== "") chip("slice", NAMED.slice());
    if (state.score !== "") chip("score", NAMED.score());
    if (FILTERS.some((key) => state[key] !== START[key])) chips.push(element("button", { type: "button", "data-clear": "all" }, "Clear all"));
    byId("chips").replaceChildren(...chips);
    const view = byId("class-views");
    if (view) {
      const views = viewsOfClasses();
      view.replaceChildren(...views.map(([value, title]) => element("option", { value }, title)));
      view.disabled = state.error in errorOf;
      view.value = views.some(([key]) => key === state.columns) ? state.columns : views[0][0];
    }
  }

  function drawClasses() {
    if (!sheets.classes) return;
    const error = state.error in errorOf ? state.error : "";
    sheets.classes.sorted = state.by ? { key: state.by.replace(/^-/, ""), down: state.by.startsWith("-") } : error ? { key: `delta_${error}`, down: true } : null;
    sheets.classes.render();
  }

  const wholeTables = new Map();

  /** Show the numbers of each error: as in the report for all classes, otherwise counted over those in scope. */
  function drawErrors() {
    const rows = scope();
    const whole = !classes || (state.split === "full" && !ofClasses());
    const split = data.splits.find((each) => each.key === state.split)?.title;
    const cost = ofClasses() ? (rows.length > 1 ? "ΔAP, mean" : "ΔAP") : `ΔmAP ${split}`;
    for (const section of document.querySelectorAll("section.error")) {
      const error = section.dataset.error;
      section.hidden = state.error !== "" && state.error in errorOf && error !== state.error;
      const table = section.querySelector("table.figures");
      if (!wholeTables.has(error)) wholeTables.set(error, [...table.children]);
      if (whole) {
        table.replaceChildren(...wholeTables.get(error));
        continue;
      }
      const heads = ["Count", "Share, %", cost].map((head) => element("th", { scope: "col" }, head));
      const lines = models.map((model, at) => {
        const [part, all] = errorCount(at, error, rows);
        const cells = [shown(part, "count"), shown(ratio(part, all), "percent"), shown(costOf(at, error, rows), "delta")];
        const label = several ? [element("th", { scope: "row", title: model.label }, model.label)] : [];
        return element("tr", {}, ...label, ...cells.map((text) => element("td", {}, text)));
      });
      table.replaceChildren(
        element("thead", {}, element("tr", {}, ...(several ? [element("td")] : []), ...heads)),
        element("tbody", {}, ...lines));
    }
  }

  /** Count an error in the given classes, and the total of which it is a share; null if unknown. */
  function errorCount(at, error, rows) {
    const mine = classes.models[at];
    if (!mine) return [null, null];
    const sum = (values) => rows.reduce((total, row) => total + values[row], 0);
    const [predicted, annotated, right] = [sum(mine.predicted), sum(classes.annotated), sum(mine.true_positive)];
    if (error === "false_positive") return [predicted - right, predicted];
    if (error === "false_negative") return [annotated - right, annotated];
    if (!labels.includes(error)) return [null, null];
    return [sum(mine[error]), error === "missed_gt" ? annotated : predicted];
  }

  function drawImages() {
    if (!sheets.images) return;
    sheets.images.sorted = sheets.images.sorted ?? (data.images.models[A()][state.error] ? { key: state.error, down: true } : null);
    sheets.images.render();
  }

  // Where each drawing is, and what it depends on: it is redrawn when any of these changes.
  const PARTS = [
    [drawFilter, "filter", Object.keys(START)],
    [drawHeadings, "main", [...FILTERS, "a"]],
    [drawBars, "costs", [...CLASSES, "error"]],
    [drawErrors, "errors", [...CLASSES, "error"]],
    ...(classes ? [
      [drawMatrix, "annotated", [...CLASSES, "slice", "error", "a", "b", "cell"]],
      [drawCurves, "curves", [...CLASSES, "error", "a", "b"]],
      ...(data.thresholds ? [[drawThresholds, "scores", [...CLASSES, "error", "a", "b"]], [drawOperating, "scores", ["score", ...CLASSES]]] : []),
      ...(data.cases ? [[drawCases, "cases", [...FILTERS, "a", "b"]], [drawImage, "image-dialog", ["image", "pair", "score", "a", "b"]]] : []),
      [drawClasses, "classes", [...CLASSES, "error", "cell", "columns", "by", "a", "b"]],
      [drawScatter, "classes", [...CLASSES, "a", "b"]],
      [drawProfile, "classes", [...CLASSES, "error", "a"]],
      [drawImages, "images", [...CLASSES, "slice", "error", "cell", "a", "b"]],
    ] : []),
    ...(sheets.slices ? [[() => sheets.slices.render(), "slices", ["slice"]]] : []),
  ];
  const drawnFor = new Map();
  const folded = [...document.querySelectorAll("details.part")];
  const openNow = () => folded.filter((each) => each.open).map((each) => each.id).join(" ");

  const inView = (part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  let latest = 0;

  /** Draw what depends on the state; if gradually, draw what is out of sight later, unless the state changes first. */
  function render(gradually = false) {
    const open = state.open.split(" ");
    const waiting = [];
    for (const each of folded) each.open = open.includes(each.id);
    byId("open-all").textContent = folded.every((each) => each.open) ? "Fold all parts" : "Open all parts";
    for (const [draw, place, keys] of PARTS) {
      const now = JSON.stringify(keys.map((key) => state[key]));
      const part = byId(place);
      // A folded part has no width, and is drawn once it is opened.
      if (drawnFor.get(draw) === now || (folded.includes(part) && !part.open)) continue;
      const run = () => {
        drawnFor.set(draw, now);
        draw();
      };
      if (gradually && part && !inView(part)) waiting.push(run);
      else run();
    }
    const turn = (latest += 1);
    const next = () => {
      if (turn !== latest) return;
      byId("main").setAttribute("aria-busy", String(waiting.length > 0));
      if (!waiting.length) return;
      waiting.shift()();
      setTimeout(next);
    };
    if (waiting.length) setTimeout(next);
    byId("main").setAttribute("aria-busy", String(waiting.length > 0));
  }

  /** Open a part of the page, leaving the other parts as they are. */
  const opened = (id) => [...new Set([...state.open.split(" "), id])].filter(Boolean).join(" ");

  function listen() {
    const form = byId("filter");
    form.hidden = false;
    for (const each of document.querySelectorAll(".needs-script")) each.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", (event) => {
      const { name, value } = event.target;
      if (name === "error") change({ error: value, cell: "", by: "" });
      else if (name === "a" || name === "b") change({ [name]: value, cell: "" });
      else if (name === "split") change({ split: value, class: "" });
    });
    form.elements.search?.addEventListener("input", (event) => change({ search: event.target.value, class: "" }, true, true));
    byId("chips").addEventListener("click", (event) => {
      const key = event.target.closest("button")?.dataset.clear;
      if (key === "all") change(Object.fromEntries(FILTERS.map((each) => [each, START[each]])));
      else if (key) change({ [key]: START[key] });
    });
    byId("matrix")?.addEventListener("click", (event) => {
      const cell = event.target.closest("button")?.dataset.cell;
      if (!cell) return;
      change(state.cell === cell ? { cell: "" } : { cell, error: "", open: opened("cases") });
      byId("matrix").querySelector(`[data-cell="${cell}"]`)?.focus();
    });
    byId("threshold")?.addEventListener("input", (event) => {
      const at = Number(event.target.value);
      change({ score: at === 0 ? "" : String(data.thresholds.score[at]) }, true);
    });
    byId("operating")?.addEventListener("click", (event) => {
      const score = event.target.closest("button")?.dataset.score;
      if (score) change({ score });
    });
    byId("cases-more")?.addEventListener("click", () => {
      visible += CASES;
      moreCases();
    });
    byId("cases-list")?.addEventListener("click", (event) => {
      const open = event.target.closest(".open, svg");
      if (open) change(placeOf(cases[Number(open.closest("figure").dataset.case)]));
    });
    byId("image-dialog")?.addEventListener("click", (event) => {
      const { turn, pair } = event.target.closest("button")?.dataset ?? {};
      if (turn) turnPair(Number(turn));
      else if (pair) change({ pair }, true);
    });
    byId("image-dialog")?.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      turnPair(step);
    });
    byId("image-dialog")?.addEventListener("close", () => {
      if (state.image !== "") change({ image: "", pair: "" });
    });
    byId("class-views")?.addEventListener("change", (event) => change({ columns: event.target.value, by: "" }));
    byId("image-search")?.addEventListener("input", () => sheets.images.renew());
    // Links to parts of the page must not replace the state in the hash.
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#"]');
      const target = link && byId(decodeURIComponent(link.hash.slice(1)));
      if (!target) return;
      event.preventDefault();
      const part = target.closest("details.part");
      change({ ...(target.hidden ? { error: "" } : {}), ...(part ? { open: opened(part.id) } : {}) });
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
    document.addEventListener("toggle", (event) => {
      if (folded.includes(event.target) && openNow() !== state.open) change({ open: openNow() }, true);
    }, true);
    byId("open-all").addEventListener("click", () => {
      const all = folded.map((each) => each.id).join(" ");
      change({ open: openNow() === all ? "" : all }, true);
    });
    for (const event of ["hashchange", "popstate"]) {
      window.addEventListener(event, () => {
        fromHash();
        render();
      });
    }
    const sheetOf = (sheet) => PRINTED[sheet.box.dataset.things] ?? Infinity;
    let before = "";
    window.addEventListener("beforeprint", () => {
      before = state.open;
      Object.assign(state, { open: folded.map((each) => each.id).join(" ") });
      render();
      for (const sheet of Object.values(sheets)) sheet.show(0, sheetOf(sheet));
    });
    window.addEventListener("afterprint", () => {
      for (const sheet of Object.values(sheets)) sheet.show();
      Object.assign(state, { open: before });
      render();
    });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      drawnFor.clear();
      render();
    });
  }

  listen();
  fromHash();
  render();
  document.documentElement.dataset.ready = "true";
})();
