// The one script of the pages. Everything it shows is HTML that the server has made and escaped.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

/* Trying: put the question, and show each section as it comes. */
const form = $("#ask");
if (form) {
  const story = $("#story"), error = $("#error"), button = $("button.main", form);
  let last = "";

  const fail = (sentence) => { error.textContent = sentence; error.hidden = false; };
  const gone = () => fail("The proxy cannot be reached. Is it still running?");
  const place = (line) => {
    for (const [name, html] of Object.entries(line)) {
      const section = $(`[data-section="${name}"]`, story);
      if (section) section.innerHTML = html;
    }
  };
  /* A transition places its line a frame later; what comes meanwhile goes with it, or the older line would be placed over the newer. */
  let waiting = null;
  const show = (line) => {
    if (line.error) return fail(line.error.message);
    if (waiting) return void Object.assign(waiting, line);
    const regroups = line.samples?.includes("groups") && !$(".groups", story);
    if (!regroups || !document.startViewTransition || !matchMedia("(prefers-reduced-motion: no-preference)").matches) return place(line);
    waiting = line;
    document.startViewTransition(() => { place(waiting); waiting = null; });
  };

  const ask = async () => {
    const fields = Object.fromEntries(new FormData(form));
    error.hidden = true;
    button.disabled = true;
    story.hidden = false;
    for (const section of $$("[data-section]", story)) section.replaceChildren();
    try {
      const reply = await fetch("/try", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(fields) });
      if (!reply.ok) return show(await reply.json());
      const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "", ended = false;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines.map((text) => JSON.parse(text))) { show(line); ended ||= "end" in line || "error" in line; }
      }
      if (!ended) fail("The answer broke off. The proxy's log says why.");
    } catch {
      gone();
    } finally {
      button.disabled = false;
    }
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  form.question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); if (!button.disabled) form.requestSubmit(); }
  });
  for (const example of $$(".example")) example.addEventListener("click", () => {
    form.question.value = example.textContent;
    if (!button.disabled) form.requestSubmit();
  });
  const route = $("select[name=route]", form);
  const options = () => {
    const chosen = route.selectedOptions[0].dataset;
    for (const [what, wanted] of [["model", chosen.model === "free"], ["key", chosen.key === "wanted"]]) {
      const label = $(`[data-for="${what}"]`, form);
      if (label) label.hidden = !wanted;
    }
  };
  if (route) { route.addEventListener("change", options); options(); }

  story.addEventListener("click", async (event) => {
    const pressed = event.target.closest("[data-verdict]");
    if (!pressed) return;
    const claim = pressed.dataset.claim, id = pressed.dataset.id ?? $("[data-answer]", story)?.dataset.answer;
    const verdict = { csrf: form.csrf.value, id, correct: pressed.dataset.verdict === "true", ...(claim === undefined ? {} : { claim: Number(claim) }) };
    const sent = fetch("/verdict", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(verdict) });
    const line = await sent.then((reply) => reply.json()).catch(gone);
    if (!line) return;
    error.hidden = true;
    if (line.claim !== undefined) {
      const place = $(`[data-settled="${claim}"]`, story);
      place.innerHTML = line.claim;
      return $("[tabindex]", place).focus();
    }
    show(line);
    $('[data-section="verdict"] p', story)?.focus();
  });
}

/* Explanations: beside their term and inside the window. Escape puts them away; pointer, finger and Tab open them (the stylesheet's part). */
const explain = (event) => {
  const term = event.target.closest?.(".term");
  if (!term) return;
  if (event.type !== "scroll") term.classList.remove("away");
  const tip = $(".tip", term), at = term.getBoundingClientRect(), above = at.bottom + tip.offsetHeight + 12 > innerHeight;
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${above ? at.top - tip.offsetHeight - 4 : at.bottom + 4}px`;
};
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, explain);
addEventListener("scroll", () => { for (const term of $$(".term:is(:hover, :focus)")) explain({ target: term, type: "scroll" }); }, { passive: true, capture: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") for (const term of $$(".term:is(:hover, :focus)")) term.classList.add("away"); });

/* Charts over time: their figures stand in the page, their colours in the stylesheet. */
const plots = $$("[data-plot]");
if (plots.length) {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => value == null ? "–" : Math.abs(value) >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : Math.abs(value) >= 1e4 ? `${Math.round(value / 1e3)}k` : Number.isInteger(value) ? String(value) : value.toPrecision(2);
  /* The marks of one axis share a unit, and as many decimals as their distance needs. */
  const marks = (_, numbers, axis, space, step) => {
    const top = Math.max(...numbers), [size, unit] = top >= 1e6 ? [1e6, "M"] : top >= 1e4 ? [1e3, "k"] : [1, ""];
    const digits = [0, 1, 2, 3, 4, 5, 6].find((n) => Math.abs((step / size) * 10 ** n - Math.round((step / size) * 10 ** n)) < 1e-6) ?? 6;
    return numbers.map((number) => number === 0 ? "0" : (number / size).toFixed(digits) + unit);
  };
  const looks = () => ({
    accent: { stroke: css("--accent"), width: 2 },
    filled: { stroke: css("--accent"), width: 2, fill: css("--wash") },
    grey: { stroke: css("--grey"), width: 1.5, dash: [5, 4] },
    line: { stroke: css("--grey"), width: 1.5 },
    ink: { stroke: css("--ink"), width: 1.25 },
    edge: { stroke: "transparent", width: 0 },
  });
  const styles = { requests: ["line", "filled"], tokens: ["line", "accent", "ink"], cost: ["line", "accent"], fd: ["edge", "edge", "accent", "grey"], ece: ["edge", "edge", "accent", "grey"], cmfg: ["edge", "edge", "accent", "grey"] };
  const drawn = [];

  const draw = (place) => {
    const kind = place.dataset.plot, data = JSON.parse($("script", place).textContent), look = looks(), banded = kind === "fd" || kind === "ece" || kind === "cmfg";
    const axis = { stroke: css("--soft"), font: "12px Inter, system-ui, sans-serif", grid: { stroke: css("--line"), width: 1 }, ticks: { show: false } };
    const options = {
      width: place.clientWidth, height: 200, legend: { show: false }, cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.12 : 1] } },
      padding: [8, 18, 0, 0],
      axes: [{ ...axis, grid: { show: false }, space: 70, size: 28, incrs: [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2419200, 7257600, 31536000], values: (_, stamps) => stamps.map((s, i) => {
        const at = new Date(s * 1e3), day = at.toLocaleDateString(undefined, { day: "numeric", month: "short" });
        const seconds = at.getSeconds() ? { second: "2-digit" } : {};
        return at.getHours() || at.getMinutes() || at.getSeconds() ? at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...seconds, hour12: false }) : day;
      }) }, { ...axis, size: 52, space: 40, values: marks }],
      series: [{}, ...styles[kind].map((name) => ({ ...look[name], spanGaps: true, points: { show: (banded || data[0].length < 3) && name !== "edge", size: 5, fill: css("--paper") } }))],
      bands: banded ? [{ series: [2, 1], fill: css("--wash") }] : [],
      hooks: { setCursor: [(plot) => tell(place, plot, banded)] },
    };
    return new uPlot(options, data, place);
  };
  const tell = (place, plot, banded) => {
    const at = plot.cursor.idx, keys = $$("li", place.parentElement), names = place.dataset.names.split("|");
    const columns = banded ? [3, 4] : plot.data.slice(1).map((_, i) => i + 1);
    keys.forEach((key, i) => {
      const value = at == null ? null : plot.data[columns[i]][at];
      const range = banded && i === 0 && value != null && plot.data[1][at] != null ? ` (${short(plot.data[1][at])}–${short(plot.data[2][at])})` : "";
      key.textContent = value == null ? names[i] : `${names[i]}: ${banded ? value.toPrecision(3) : value.toLocaleString()}${range}`;
    });
  };
  const redraw = () => { while (drawn.length) drawn.pop().destroy(); for (const place of plots) drawn.push(draw(place)); };
  redraw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
}

/* Review: one key for each button. */
const review = $("[data-keys]");
if (review) addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  const button = $(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`, review);
  if (button) { event.preventDefault(); review.requestSubmit(button); }
});
