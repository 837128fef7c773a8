"""The pages in a real Chromium: what they ask for, complain about, and what keeps people from using them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe

PATIENCE_MS = 90_000
"""As long as any test waits: the machine may be busy."""
AXE = Axe().axe_script

CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (el) => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || !el.checkVisibility() || el.closest("script, title, .skip, textarea")) continue;
    const style = getComputedStyle(el), ink = parse(el instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(el))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}"""


def violations(page: Any) -> list[str]:
    """What axe finds on the page as it stands, each with the first place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    each: list[str] = page.evaluate(
        """axe.run({resultTypes: ["violations"]}).then(
        (all) => all.violations.map((one) => `${one.id}: ${one.help} (${one.nodes[0].target})`))"""
    )
    return each


def hindrances(page: Any, picture: Path) -> list[str]:
    """What keeps people from using the page as it stands: it scrolls sideways, or in light or dark some text is fainter than WCAG AA allows or axe
    finds fault. A picture of each goes beside `picture`, whose name it bears.
    """
    width = page.viewport_size["width"]
    needed = page.evaluate("document.documentElement.scrollWidth")
    all_of_them = [f"{picture.name}: {needed} of {width} px"] if needed > width else []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=f"{picture}-{width}-{scheme}.png", full_page=True)
        all_of_them += [f"{picture.name}, {scheme}: {one}" for one in page.evaluate(CONTRASTS) + violations(page)]
    return all_of_them


class Watched:
    """A page with everything that it asked for and complained about."""

    def __init__(self, browser: Any, address: str, width: int = 1280) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, base_url=address)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda r: self.complaints.append(r.url) if not r.url.startswith(address) else None)

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, kind: Any, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.complaints == []
