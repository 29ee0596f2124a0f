"""Pages and pictures that commands write can be read: nothing beyond the screen, no label missing or over another.

By their text always; as a browser shows them, where there is one: Chromium takes 300 MB, too much to ask of every
machine that builds Wharf. `apt-get install chromium` and these tests use it.
"""

import unittest

import page_check
from wharf_fixture import SOURCE, EndToEndTest


class Pages(EndToEndTest):
    def written(self, name, *command):
        done = self.command(*command, self.folder / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / name).read_text()

    def check_page(self, page, least_pictures=1):
        self.assertGreaterEqual(len(page_check.pictures_of(page)), least_pictures)
        self.assertEqual(page_check.reading(page), [])
        self.in_browser(page)

    def check_picture(self, svg):
        self.assertEqual(page_check.picture_faults(svg), [])
        self.in_browser(f"<!DOCTYPE html><meta charset=utf-8><body style='margin:0;overflow-x:auto'>{svg}", (1280,))

    def in_browser(self, page, widths=(1280, 400)):
        if page_check.CHROMIUM is None:
            return
        for width in widths:
            with self.subTest(width=width):
                self.assertEqual(page_check.seen_by_chromium(page, width, self.folder), [])

    def test_split(self):
        page = self.written("page.html", "bench", "split", "--simulate", "--models", "kapao", "--rates", "5,20,50,80,400",
                            "--scenarios", "fixed,indoors", "--systems", "device-only,server-only,dsccs", "--profiles",
                            SOURCE / "data" / "profiles", "--traces", SOURCE / "data" / "traces", "--html")
        self.check_page(page, 2)
        for text in (">400<", ">bound<", ">ms<"):
            self.assertTrue(text in page, text)
        self.assertTrue(">Mbit/s" in page)

    def test_pipelines(self):
        page = self.written("page.html", "bench", "pipeline", "--quick", "--clusters", "hc1-small", "--algorithms", "np,ours", "--curves", "--html")
        self.check_page(page)

    def test_view_of_an_ar_client(self):
        page = self.written("view.html", "ar", "view", "--synthetic", "L/L:0", "--duration", "2s", "--out")
        self.check_page(page, 0)
        for text in ('"odometry"', '"at":', '"truth":', "data:image/jpeg"):
            self.assertTrue(text in page, text)

    def test_trace_of_a_link(self):
        trace = self.folder / "steps.csv"
        trace.write_text("time_s,mbps\n" + "".join(f"{i / 10},{100 if i % 4 else 20}\n" for i in range(40)))
        done = self.command("link", "--trace", trace, "--svg", self.folder / "trace.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("steps: 4.0 s, mean 80.0 Mbit/s, standard deviation 35.1, least 20.0, 5 % of the time below 20.0, "
                      "most 100.0", done.stdout)
        svg = self.written("robot.svg", "link", "--trace", SOURCE / "data" / "traces" / "outdoors_a.csv", "--svg")
        self.check_picture(svg)
        for text in (">400<", ">s<", ">300<", ">outdoors_a<", "over time, Mbit/s<"):
            self.assertIn(text, svg)

    def test_gantt_chart_of_a_plan(self):
        plan = self.folder / "plan.json"
        profile = SOURCE / "data" / "profiles" / "kapao.csv"
        done = self.command("plan", "--profile", profile, "--planner", "dsccs", "--bandwidth", "80mbit", "--json", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        svg = self.written("plan.svg", "explain", plan, "--profile", profile, "--svg")
        self.check_picture(svg)
        for text in ("server computes", "sent to the server", "conv2d", "ms"):
            self.assertTrue(f">{text}<" in svg or f" {text}: " in svg, text)

    def test_gantt_chart_of_a_pipeline(self):
        plan = self.folder / "plan.json"
        done = self.command("pipeline", "plan", "--cluster", "hc1-small", "--models", SOURCE / "data" / "pipeline" / "g1.yaml",
                            "--json", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        svg = self.written("timeline.svg", "pipeline", "simulate", plan, "--seconds", "2", "--timeline")
        self.check_picture(svg)

    def test_the_check_finds_what_is_wrong(self):
        """The checks of text can fail, each in its way."""
        good = ("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 200 100' font-size='14'>"
                "<text x='20' y='90' text-anchor='middle'>0</text><text x='80' y='90' text-anchor='middle'>5</text>"
                "<text x='{}' y='90' text-anchor='middle'>{}</text></svg>")
        self.assertEqual(page_check.picture_faults(good.format(140, 10)), [])
        self.assertIn("overlap", page_check.picture_faults(good.format(84, 10))[0])
        self.assertIn("beyond", page_check.picture_faults(good.format(199, 10000))[0])
        self.assertIn("no label", page_check.picture_faults(good.format(140, "nan"))[0])
        self.assertEqual(len(page_check.reading("<table><tr><td>1</td></tr></table>")), 4)
        self.in_browser_finds("<body><table><tr><td><div style='width:900px'>wide</div></td></tr></table>", "wide")

    def in_browser_finds(self, page, what):
        if page_check.CHROMIUM is None:
            self.skipTest("no Chromium: pages were checked by their text only (apt-get install chromium for the rest)")
        self.assertIn(what, str(page_check.seen_by_chromium(page, 400, self.folder)))


if __name__ == "__main__":
    unittest.main()
