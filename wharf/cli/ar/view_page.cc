#include "wharf/cli/ar/view_page.h"

#include <absl/strings/escaping.h>

#include <cmath>

#include "wharf/report/html_page.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::cli {
namespace {

// Two pictures, a map and a schedule; below 45 em one under the other. The script draws what the slider is at.
constexpr const char* kViewMarkup = R"html(
<style>
.panels{display:grid;grid-template-columns:1fr 1fr;gap:1em}
.panels figure{margin:0;overflow:hidden}.panels figcaption{font-weight:bold;margin-bottom:.3em}
.panels canvas,.panels img,.panels svg{display:block;width:100%;height:auto;min-width:0;max-width:none;background:#eee}
.bar{height:1em;background:linear-gradient(90deg,#f00,#ff0,#0f0,#0ff,#00f)}
.scale{position:relative;height:1.3em;font-size:80%}.scale span{position:absolute}.sky{font-size:80%}
.controls{display:flex;gap:.8em;align-items:center;flex-wrap:wrap;margin:.8em 0}
.controls input[type=range]{flex:1;min-width:10em}.controls button{font-size:1em;padding:.3em 1em}
.state{padding:.1em .6em;border-radius:1em;color:white;background:#b3261e}.state.good{background:#1b7f3b}
@media(max-width:45em){.panels{grid-template-columns:1fr}}
</style>
<div class="controls"><button id="play">play</button><input id="slider" type="range" min="0" value="0" aria-label="frame">
<span id="when"></span><span id="state" class="state"></span></div>
<div class="panels">
<figure><figcaption>camera: vehicles orange, people green</figcaption><canvas id="camera"></canvas></figure>
<figure><figcaption>depth</figcaption><img id="depth" alt="depth in colours"><div class="bar"></div>
<div class="scale"><span style="left:0">3 m</span><span style="left:23.6%">5</span><span style="left:47.8%">10</span>
<span style="left:65.8%">20</span><span style="left:80.3%">40</span><span style="right:0">80 m</span></div>
<div class="sky">the sky is grey</div></figure>
<figure><figcaption id="waysaid">way from above</figcaption><svg id="map" viewBox="0 0 600 320" font-size="14"></svg></figure>
<figure><figcaption>frames sent to the server</figcaption><svg id="schedule" viewBox="0 0 600 320" font-size="14"></svg></figure>
</div>
<p id="agreement"></p>
)html";

constexpr const char* kViewScript = R"js(
const el = id => document.getElementById(id), svgns = "http://www.w3.org/2000/svg";
const add = (svg, kind, attributes, text) => {
  const node = document.createElementNS(svgns, kind);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  svg.appendChild(node);
  return node;
};
const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"], frames = data.frames;
const round = most => { const p = 10 ** Math.floor(Math.log10(most)); return [5, 2, 1].map(f => f * p).find(l => l <= most) || p; };

// The whole way, drawn once; what is behind is drawn dark by the cursor's frame.
const posed = frames.filter(f => f.at), map = el("map");
const points = posed.flatMap(f => f.truth ? [f.at, f.truth] : [f.at]);
let place = () => [0, 0];
if (points.length) {
  const low = [0, 1].map(i => Math.min(...points.map(p => p[i]))), high = [0, 1].map(i => Math.max(...points.map(p => p[i])));
  const scale = Math.min(560 / Math.max(10, high[0] - low[0]), 240 / Math.max(10, high[1] - low[1]));
  place = p => [300 + (p[0] - (low[0] + high[0]) / 2) * scale, 145 - (p[1] - (low[1] + high[1]) / 2) * scale];
  const way = (of, colour, width) => add(map, "polyline",
    {points: of.map(p => place(p).join()).join(" "), fill: "none", stroke: colour, "stroke-width": width});
  if (posed[0].truth) way(posed.map(f => f.truth), "#1b7f3b", 5);
  way(posed.map(f => f.at), "#0072b2", 2);
  const metres = round(150 / scale);
  add(map, "line", {x1: 12, x2: 12 + metres * scale, y1: 302, y2: 302, stroke: "black", "stroke-width": 3});
  add(map, "text", {x: 22 + metres * scale, y: 307}, metres + " m");
  add(map, "text", {x: 590, y: 307, "text-anchor": "end", fill: "#0072b2"}, "estimate");
  if (posed[0].truth) add(map, "text", {x: 510, y: 307, "text-anchor": "end", fill: "#1b7f3b"}, "truth");
} else add(map, "text", {x: 300, y: 150, "text-anchor": "middle"}, "no pose is asked for");
const ring = add(map, "circle", {r: 0, fill: "#0072b2", "fill-opacity": .15}), dot = add(map, "circle", {r: 0});

const schedule = el("schedule"), end = Math.max(1, frames[frames.length - 1].t), left = 110, right = 580;
const x = t => left + (right - left) * t / end, high = Math.min(70, 250 / data.tasks.length);
const step = [1, 2, 5, 10].find(s => end / s <= 10) || 20;
for (let t = 0; t <= end; t += step) {
  add(schedule, "line", {x1: x(t), x2: x(t), y1: 10, y2: 14 + high * data.tasks.length, stroke: "#bbb"});
  add(schedule, "text", {x: x(t), y: 32 + high * data.tasks.length, "text-anchor": "middle"}, t);
}
add(schedule, "text", {x: (left + right) / 2, y: 52 + high * data.tasks.length, "text-anchor": "middle"}, "seconds");
data.tasks.forEach((task, row) => {
  add(schedule, "text", {x: left - 10, y: 10 + high * (row + .5) + 5, "text-anchor": "end"}, task.name);
  for (const t of task.sent)
    add(schedule, "rect", {x: x(t) - .6, y: 14 + high * row, width: 1.2, height: high - 8, fill: colours[row % 4]});
});
const cursor = add(schedule, "line", {y1: 6, y2: 18 + high * data.tasks.length, stroke: "black", "stroke-width": 2});

const canvas = el("camera"), picture = new Image();
let shown = 0;
picture.onload = () => {
  canvas.width = 2 * picture.width;
  canvas.height = 2 * picture.height;
  const draw = canvas.getContext("2d");
  draw.drawImage(picture, 0, 0, canvas.width, canvas.height);
  draw.lineWidth = 3;
  for (const [l, t, r, b, person] of frames[shown].boxes) {
    draw.strokeStyle = person ? "#46c85a" : "#ff961e";
    draw.strokeRect(2 * l, 2 * t, 2 * (r - l), 2 * (b - t));
  }
};
function show(i) {
  shown = i;
  const f = frames[i];
  el("slider").value = i;
  el("when").textContent = "frame " + f.index + ", " + f.t.toFixed(2) + " s";
  picture.src = f.camera;
  el("depth").style.visibility = f.depth ? "visible" : "hidden";
  if (f.depth) el("depth").src = f.depth;
  el("state").textContent = f.state ? "pose: " + f.state : "no pose";
  el("state").classList.toggle("good", Boolean(f.good));
  el("agreement").textContent = f.agreement || "";
  cursor.setAttribute("x1", x(f.t));
  cursor.setAttribute("x2", x(f.t));
  if (!f.at) return;
  const [cx, cy] = place(f.at), unit = Math.abs(place([f.at[0] + 1, 0])[0] - cx);
  for (const [mark, r] of [[ring, Math.min(400, f.sd * unit)], [dot, 6]])
    for (const [name, value] of [["cx", cx], ["cy", cy], ["r", r]]) mark.setAttribute(name, value);
  dot.setAttribute("fill", f.good ? "#0072b2" : "#b3261e");
  el("waysaid").textContent = "way from above: known to \u00b1" + f.sd.toFixed(1) + " m"
    + (f.truth ? ", off by " + f.off.toFixed(1) + " m" : "");
}
el("slider").max = frames.length - 1;
el("slider").oninput = () => show(Number(el("slider").value));
let timer = 0;
el("play").onclick = () => {
  el("play").textContent = timer ? "play" : "pause";
  if (timer) { clearInterval(timer); timer = 0; return; }
  const wait = frames.length > 1 ? 1000 * (frames[1].t - frames[0].t) : 100;
  timer = setInterval(() => show((shown + 1) % frames.length), wait);
};
show(frames.length - 1);
)js";

// As a URL that is the picture itself; empty: it cannot be made.
std::string AsUrl(const scene::Image& image, int quality) {
  const auto jpeg = split::EncodeJpeg({image.width, image.height, 3, image.rgb}, quality);
  if (!jpeg.ok()) return "";
  return "data:image/jpeg;base64," + absl::Base64Escape({reinterpret_cast<const char*>(jpeg->data()), jpeg->size()});
}

double Rounded(double value) { return std::round(100 * value) / 100; }
nlohmann::ordered_json PlaceOf(const scene::Pose& pose) {
  return nlohmann::ordered_json::array({Rounded(pose.position.x()), Rounded(pose.position.y())});
}

}  // namespace

ViewPage::ViewPage(std::string title, const std::vector<std::string>& tasks) : title_(std::move(title)) {
  for (const std::string& task : tasks) tasks_.push_back({{"name", task}, {"sent", nlohmann::ordered_json::array()}});
}

void ViewPage::Count(const scene::ViewContent& content) {
  ++count_;
  for (size_t task = 0; task < content.schedule.size(); ++task) {
    if (content.schedule[task].offloaded.back()) tasks_[task]["sent"].push_back(Rounded(content.time_s));
  }
}

void ViewPage::Add(const scene::ViewContent& content) {
  nlohmann::ordered_json frame = {
      {"index", content.index}, {"t", Rounded(content.time_s)}, {"camera", AsUrl(*content.frame, 80)}};
  if (content.depth != nullptr) frame["depth"] = AsUrl(scene::DepthPicture(*content.depth, *content.frame), 80);
  frame["boxes"] = nlohmann::ordered_json::array();
  for (const scene::Box& box : content.boxes) {
    const int person = box.object_class == scene::ObjectClass::kPerson ? 1 : 0;
    frame["boxes"].push_back(
        {std::lround(box.left), std::lround(box.top), std::lround(box.right), std::lround(box.bottom), person});
  }
  if (!content.estimated.empty() && content.estimated.back().position.allFinite()) {
    const scene::Pose& pose = content.estimated.back();
    frame["at"] = PlaceOf(pose);
    frame["state"] = content.pose_state;
    if (!content.pose_why.empty()) frame["state"] = fmt::format("{}: {}", content.pose_state, content.pose_why);
    frame["good"] = content.pose_good;
    frame["sd"] = Rounded(content.position_sd_m);
    if (!content.truth.empty()) {
      frame["truth"] = PlaceOf(content.truth.back());
      frame["off"] = Rounded((content.truth.back().position - pose.position).norm());
    }
  }
  if (!content.agreement.empty()) frame["agreement"] = content.agreement;
  frames_.push_back(std::move(frame));
}

std::string ViewPage::Text() const {
  report::HtmlPage page(
      title_, report::RunRecord::OfThisProcess(fmt::format("{} frames, of which {} are here", count_, frames_.size())));
  page.AddMarkup(kViewMarkup);
  // No text of the data can end the script: "<" is written as its number.
  std::string data = nlohmann::ordered_json{{"frames", frames_}, {"tasks", tasks_}}.dump();
  for (size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at)) data.replace(at, 1, "\\u003c");
  page.AddMarkup("<script>\nconst data = " + data + ";" + kViewScript + "</script>\n");
  return page.Text();
}

}  // namespace wharf::cli
