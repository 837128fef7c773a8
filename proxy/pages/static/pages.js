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
  const place = (line) => {
    for (const [name, html] of Object.entries(line)) {
      const section = $(`[data-section="${name}"]`, story);
      if (section) section.innerHTML = html;
    }
  };
  const show = (line) => {
    if (line.error) return fail(line.error);
    const regroups = line.samples?.includes("groups") && !$(".groups", story);
    if (regroups && document.startViewTransition && matchMedia("(prefers-reduced-motion: no-preference)").matches) document.startViewTransition(() => place(line));
    else place(line);
  };

  const ask = async () => {
    const fields = Object.fromEntries(new FormData(form));
    error.hidden = true;
    button.disabled = true;
    story.hidden = false;
    for (const section of $$("[data-section]", story)) section.replaceChildren();
    try {
      const reply = await fetch("/try", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(fields) });
      if (!reply.ok) return fail((await reply.json()).error);
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
      fail("The proxy cannot be reached. Is it still running?");
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
    const told = { csrf: form.csrf.value, id: pressed.dataset.id, correct: pressed.dataset.verdict === "true" };
    const reply = await fetch("/verdict", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(told) });
    const line = await reply.json();
    show(line);
    $('[data-section="verdict"] p', story)?.focus();
  });
}
