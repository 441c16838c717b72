// The picture, from top to bottom: title, summary and legend; a block of lanes
// for ranks that are alike; a time axis; the memory curve.
#include "tpsp/Runtime/Driver/Pictures/TimelineSvg.h"

#include "LaneDrawing.h"

#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::rt::frame;

namespace {

class Picture {
public:
  Picture(const StepTrace &trace, const std::string &summary)
      : trace(trace), summary(summary), time(trace.seconds()),
        // Pauses of half a unit are not visible.
        picture(stepPicture(trace, /*mostBars=*/-1,
                            0.5 * time.seconds() / (right - left))) {}

  std::string draw() {
    svg.define(patternDefinitions());
    drawHead();
    double lanesBegin = y;
    layOutLanes();
    double lanesEnd = y;
    const PictureRanks *fullest = ranksOfMostMemory();
    double gridEnd = fullest ? lanesEnd + axisHeight + memoryHeight : lanesEnd;
    drawGrid(lanesBegin, lanesEnd, gridEnd);
    drawLanes();
    drawAxis(lanesEnd);
    y = lanesEnd + axisHeight;
    if (fullest)
      drawMemory(*fullest);
    return svg.finish(width, y + 14, trace.title + ": " + summary);
  }

private:
  static constexpr double axisHeight = 34, memoryHeight = 96;

  void drawHead() {
    std::string title = trace.title;
    if (!trace.setting.empty())
      title += ", " + trace.setting;
    svg.text(16, 26, title, {16, "start", "#111", true});
    svg.text(16, 48, summary, {14, "start", "#222"});
    y = 60;
    legendX = 16;
    for (const PictureKind &each : picture.kinds) {
      Box box = legendBox(each.text);
      svg.rectangle(box, fmt::format("fill='{}'", fillOf(lookOf(each.kind))));
    }
    if (picture.hasExposed()) {
      Box box = legendBox(exposedText);
      svg.rectangle(box, fmt::format("fill='{}'", exposedFill));
      box.y += box.height - exposedLine;
      box.height = exposedLine;
      svg.rectangle(box, fmt::format("fill='{}'", exposedColour));
    }
    if (picture.hasCritical()) {
      Box box = legendBox(criticalText);
      svg.path(fmt::format("M{} {}h20v11h-20z", box.x + 1, box.y + 1),
               criticalStroke());
    }
    y += 28;
  }

  /// Writes a text of the legend, in a new line if there is no room. Returns
  /// the box before it.
  Box legendBox(const std::string &text) {
    constexpr double gap = 28;
    double needed = gap + textWidth(text, textSize);
    if (legendX > 16 && legendX + needed > right) {
      legendX = 16;
      y += 20;
    }
    Box box{legendX, y, 22, 13};
    svg.text(legendX + gap, y + 11, text, {textSize});
    legendX += needed + 20;
    return box;
  }

  const TraceRank &rankOf(const PictureRanks &group) const {
    return trace.ranks[group.alike.ranks.front()];
  }

  double laneHeight() const {
    size_t lanes = 0;
    for (const PictureRanks &group : picture.ranks)
      lanes += group.lanes.size();
    if (lanes <= 2)
      return 36;
    if (lanes <= 8)
      return 24;
    return lanes <= 24 ? 17 : 10;
  }

  /// A block of lanes for ranks that are alike.
  void layOutLanes() {
    double height = laneHeight();
    for (const PictureRanks &group : picture.ranks) {
      std::vector<LaneBox> &block = blocks.emplace_back();
      for (const PictureLane &lane : group.lanes) {
        block.push_back({&lane, y, height});
        y += height + 2;
      }
      y += height >= 17 ? 6 : 3;
    }
  }

  void drawGrid(double begin, double lanesEnd, double end) {
    for (double tick = 0; tick <= time.seconds() * (1 + 1e-9);
         tick += time.tick()) {
      double x = time.at(tick);
      svg.line(x, begin - 4, x, lanesEnd, "stroke='#ccc' stroke-width='0.8'");
      if (end > lanesEnd)
        svg.line(x, lanesEnd + axisHeight, x, end,
                 "stroke='#ddd' stroke-width='0.8'");
    }
  }

  void drawLanes() {
    if (!trace.plan)
      return;
    LaneDrawing drawing(svg, time, *trace.plan);
    for (size_t group = 0; group < blocks.size(); ++group) {
      for (const LaneBox &box : blocks[group]) {
        drawing.draw(box);
        drawLaneName(box, blocks[group].size());
      }
      if (!blocks[group].empty())
        drawRankName(picture.ranks[group].alike.name, blocks[group]);
    }
  }

  void drawLaneName(const LaneBox &box, size_t lanesOfRank) {
    if (box.height >= textSize && lanesOfRank > 1)
      svg.text(left - 6, box.y + box.height / 2 + 4, box.lane->name,
               {textSize, "end", "#555"});
  }

  /// Writes "rank 3" and, if there is room, "dp=1 tp=1" under it.
  void drawRankName(const std::string &name,
                    const std::vector<LaneBox> &lanes) {
    size_t colon = name.find(": ");
    std::string rank = name.substr(0, colon);
    std::string place =
        colon == std::string::npos ? "" : name.substr(colon + 2);
    double top = lanes.front().y;
    double height = lanes.back().y + lanes.back().height - top;
    double middle = top + height / 2 + 0.36 * textSize;
    double room = lanes.size() < 2 ? left - 22 : left - 80;
    double besides = textWidth(rank + "  ", textSize);
    bool under = height >= 2 * textSize + 6 &&
                 textWidth(place, textSize) <= room && !place.empty();
    bool beside = !under && textWidth(place, textSize) + besides <= room;
    svg.text(16, under ? middle - 7 : middle, rank,
             {textSize, "start", "#111", true});
    if (under)
      svg.text(16, middle + 8, place, {textSize, "start", "#555"});
    else if (beside)
      svg.text(16 + besides, middle, place, {textSize, "start", "#555"});
  }

  void drawAxis(double top) {
    auto [unit, name] = time.unit();
    svg.line(left, top, right, top, "stroke='#444' stroke-width='1'");
    for (double tick = 0; tick <= time.seconds() * (1 + 1e-9);
         tick += time.tick()) {
      double x = time.at(tick);
      svg.line(x, top, x, top + 5, "stroke='#444' stroke-width='1'");
      bool isFirst = tick == 0;
      std::string label = fmt::format("{:.6g}", tick / unit);
      svg.text(x, top + 18, isFirst ? label + " " + name : label,
               {textSize, "middle", "#333"});
    }
  }

  const PictureRanks *ranksOfMostMemory() const {
    const PictureRanks *fullest = nullptr;
    double most = 0;
    for (const PictureRanks &group : picture.ranks)
      for (const TraceSample &sample : rankOf(group).memory)
        if (sample.value > most) {
          most = sample.value;
          fullest = &group;
        }
    return fullest;
  }

  void drawMemory(const PictureRanks &group) {
    const TraceRank &rank = rankOf(group);
    const TraceSample &peak =
        *std::max_element(rank.memory.begin(), rank.memory.end(),
                          [](const TraceSample &a, const TraceSample &b) {
                            return a.value < b.value;
                          });
    double top = y, bottom = y + memoryHeight;
    double highest =
        1.12 *
        std::max(peak.value, static_cast<double>(trace.plan->arenaBytes));
    auto height = [&](double bytes) {
      return bottom - memoryHeight * bytes / highest;
    };
    std::string curve = memoryPath(rank.memory, height);
    svg.path(curve +
                 fmt::format("V{}H{}z", coordinate(bottom), coordinate(left)),
             "fill='#e4e8ee' stroke='none'");
    svg.path(curve, "fill='none' stroke='#3d4d66' stroke-width='1.4'");
    svg.line(left, bottom, right, bottom, "stroke='#444' stroke-width='1'");
    drawPeak(peak, bottom, height);
    if (trace.plan->arenaBytes > 0)
      drawArena(height(static_cast<double>(trace.plan->arenaBytes)));
    svg.text(16, top + 48, "memory in use", {textSize, "start", "#111", true});
    const std::string &name = group.alike.name;
    if (picture.ranks.size() > 1)
      svg.text(16, top + 64, name.substr(0, name.find(": ")),
               {textSize, "start", "#555"});
    svg.text(left - 6, bottom + 1, "0", {textSize, "end", "#555"});
    y = bottom;
  }

  template <typename Height>
  void drawPeak(const TraceSample &peak, double bottom, const Height &height) {
    double x = time.at(peak.seconds), top = height(peak.value);
    svg.circle(x, top, 2.6, "fill='#3d4d66'");
    svg.line(x, top, x, bottom,
             "stroke='#3d4d66' stroke-width='0.8' stroke-dasharray='2 2'");
    std::string label = "peak " + bytesText(peak.value);
    bool isRight = x + textWidth(label, textSize) + 8 > right;
    svg.text(isRight ? x - 6 : x + 6, bottom - 8, label,
             {textSize, isRight ? "end" : "start", "#111"});
  }

  void drawArena(double top) {
    svg.line(left, top, right, top,
             "stroke='#555' stroke-width='1' stroke-dasharray='5 3'");
    svg.text(left - 6, top + 4,
             "arena " + bytesText(static_cast<double>(trace.plan->arenaBytes)),
             {textSize, "end", "#555"});
  }

  /// A path that steps from sample to sample. If several samples fall within
  /// half a unit, only the highest and the last are drawn.
  template <typename Height>
  std::string memoryPath(const std::vector<TraceSample> &samples,
                         const Height &height) const {
    std::string data;
    for (size_t i = 0; i < samples.size();) {
      double x = time.at(samples[i].seconds);
      double highest = samples[i].value, last = highest;
      for (; i < samples.size() && time.at(samples[i].seconds) < x + 0.5; ++i) {
        highest = std::max(highest, samples[i].value);
        last = samples[i].value;
      }
      data += data.empty() ? fmt::format("M{} {}", coordinate(x),
                                         coordinate(height(highest)))
                           : fmt::format("H{}V{}", coordinate(x),
                                         coordinate(height(highest)));
      if (last != highest)
        data += fmt::format("V{}", coordinate(height(last)));
    }
    return data + fmt::format("H{}", coordinate(right));
  }

  const StepTrace &trace;
  const std::string &summary;
  TimeScale time;
  SvgDocument svg;
  /// The y coordinate below all that has been drawn so far.
  double y = 0;
  /// The x coordinate after the legend's last text.
  double legendX = 16;
  const StepPicture picture;
  /// By group of ranks.
  std::vector<std::vector<LaneBox>> blocks;
};

} // namespace

std::string tpsp::rt::toSvg(const StepTrace &trace,
                            const std::string &summary) {
  return Picture(trace, summary).draw();
}
