"""Whether a page and its pictures can be read, on a screen of 1280 as of 400 pixels: what pages_test.py asks of each.

`reading` parses a page and estimates how wide text is; it needs nothing. `seen_by_chromium` has Chromium lay the page
out and measures: it needs Chromium, and a few seconds a page.
"""

import html
import html.parser
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SVG = "{http://www.w3.org/2000/svg}"
LETTER = 0.62  # width of a letter of sans-serif text at most, on average over a text, in units of its size
RECORD = ["command", "date", "machine", "load", "sample"]


class Outline(html.parser.HTMLParser):
    """What a page holds, in order of its tags."""

    def __init__(self):
        super().__init__()
        self.records, self.unwrapped, self.untitled, self.tables, self.viewport = [], 0, 0, 0, False
        self.stack, self.term = [], None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "meta":
            self.viewport |= attributes.get("name") == "viewport"
            return
        if tag == "table":
            self.tables += 1
            self.unwrapped += not any(name == "div" and "wide" in of.get("class", "") for name, of in self.stack)
        if tag == "td":
            self.untitled += "data-title" not in attributes
        self.stack.append((tag, attributes))

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, text):
        tag = self.stack[-1][0] if self.stack else ""
        if tag == "dt":
            self.term = text
        if tag == "dd":
            self.records.append((self.term, text.strip()))


def texts_of(svg):
    """(text, left, right, baseline, anchor) of what an SVG document says, estimated; not what is turned."""
    root = ElementTree.fromstring(svg)
    size = float(root.get("font-size", 16))
    for element in root.iter(SVG + "text"):
        if element.get("transform"):
            continue
        said = "".join(element.itertext())
        width = LETTER * float(element.get("font-size", size)) * len(said)
        x, anchor = float(element.get("x")), element.get("text-anchor", "start")
        left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
        yield said, left, left + width, float(element.get("y")), anchor


def picture_faults(svg):
    """What is wrong with an SVG picture, by its text alone."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    faults = []
    texts = list(texts_of(svg))
    if not texts:
        return ["a picture without words"]
    for said, left, right, y, _ in texts:
        if not said.strip():
            faults.append("an empty label")
        if left < -1 or right > width + 1 or y > height + 1 or y < 0:
            faults.append(f"{said!r} reaches beyond the picture: {left:.0f} to {right:.0f} of {width:.0f}")
        if re.search(r"\b(nan|inf)\b", said):
            faults.append(f"{said!r} is no label")
    rows = {}
    for said, left, right, y, anchor in texts:
        if anchor == "middle":
            rows.setdefault(y, []).append((left, right, said))
    for row in rows.values():
        row.sort()
        for (_, end, one), (begin, _, other) in zip(row, row[1:]):
            if begin < end - 2:
                faults.append(f"{one!r} and {other!r} overlap")
    numbers = [said for said, *_ in texts if re.fullmatch(r"[\d.]+", said)]
    if len(numbers) < 3:
        faults.append(f"an axis with {len(numbers)} ticks")
    return faults


def pictures_of(page):
    return re.findall(r"<svg xmlns.*?</svg>", page, re.DOTALL)  # not those that a script draws


def reading(page):
    """What is wrong with a page, as far as its text tells."""
    outline = Outline()
    outline.feed(page)
    faults = [fault for svg in pictures_of(page) for fault in picture_faults(svg)]
    if [name for name, _ in outline.records] != RECORD or not all(said for _, said in outline.records):
        faults.append(f"a record of {outline.records}")
    if not outline.viewport:
        faults.append("no viewport: telephones would show a page of 980 pixels")
    if outline.unwrapped:
        faults.append(f"{outline.unwrapped} of {outline.tables} tables can make the page wider than the screen")
    if outline.untitled:
        faults.append(f"{outline.untitled} cells do not say what they are where the screen is narrow")
    if re.search(r"(src|href)=\"", page):
        faults.append("it needs other files")
    return faults


# Runs in the page that holds the page in a frame of the width in question; says what it finds as its title.
PROBE = """
<script>addEventListener("load", () => {
  const frame = document.querySelector("iframe"), page = frame.contentDocument, faults = [];
  const width = frame.clientWidth;
  if (page.documentElement.scrollWidth > width) faults.push("the page is " + page.documentElement.scrollWidth + " wide");
  for (const table of page.querySelectorAll("table")) {
    const holder = table.closest(".wide") || page.body;
    if (holder.getBoundingClientRect().right > width + 1) faults.push("a table's frame ends beyond the screen");
    if (width <= 720 && table.getBoundingClientRect().width > width) faults.push("a table is wider than the screen");
  }
  for (const svg of page.querySelectorAll("svg")) {
    const all = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")];
    if (all.width < 100 || all.height < 60) faults.push("a picture of " + all.width + " x " + all.height);
    if (all.right > width + 1) faults.push("a picture ends beyond the screen");
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
    for (const [said, box] of boxes) {
      if (!said.trim() || box.width < 1) faults.push("an empty label");
      if (box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1 || box.top < all.top - 1)
        faults.push(JSON.stringify(said) + " reaches beyond its picture");
    }
    for (let i = 0; i < boxes.length; ++i) for (let j = i + 1; j < boxes.length; ++j) {
      const [a, b] = [boxes[i][1], boxes[j][1]];
      const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (x > 2 && y > 0.5 * Math.min(a.height, b.height))
        faults.push(JSON.stringify(boxes[i][0]) + " is written over " + JSON.stringify(boxes[j][0]));
    }
  }
  document.title = "faults " + JSON.stringify({width, faults: faults.slice(0, 20)}) + " end";
});</script>"""


def seen_by_chromium(page, width, folder, patience=120):
    """What is wrong with a page on a screen of this width, laid out by Chromium. AssertionError: it did not say."""
    holder = folder / f"holder_{width}.html"
    holder.write_text(f"<!DOCTYPE html><html><head><meta charset=utf-8><title>nothing</title>{PROBE}</head><body style=margin:0>"
                      f"<iframe style='border:0;width:{width}px;height:900px' srcdoc=\"{html.escape(page)}\"></iframe>"
                      "</body></html>")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--disable-background-networking", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
                           "--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom", holder.as_uri()],
                          capture_output=True, text=True, timeout=patience)
    found = re.search(r"<title>faults (.*?) end</title>", done.stdout, re.DOTALL)
    assert found, f"Chromium said nothing: {done.stderr[-2000:]}"
    said = json.loads(html.unescape(found.group(1)))
    assert said["width"] == width, said
    return said["faults"]
