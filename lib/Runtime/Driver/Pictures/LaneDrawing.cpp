#include "LaneDrawing.h"

#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::rt::frame;

static std::string idOf(const Look &look) {
  return fmt::format("kind-{}", *look.kind ? look.kind : "other");
}

std::string tpsp::rt::fillOf(const Look &look) {
  return *look.pattern ? "url(#" + idOf(look) + ")" : look.fill;
}

/// A pattern, with a ground of this colour; "" for none.
static std::string definition(const std::string &id, const char *pattern,
                              const std::string &ground,
                              const std::string &stroke) {
  const Pattern *strokes = findPattern(pattern);
  return fmt::format("<pattern id='{}' width='8' height='8' "
                     "patternUnits='userSpaceOnUse'>{}<path d='{}' fill='none' "
                     "{} stroke-width='{}'/></pattern>",
                     id,
                     ground.empty() ? ""
                                    : fmt::format("<rect width='8' height='8' "
                                                  "fill='{}'/>",
                                                  ground),
                     strokes->path, stroke, strokes->width);
}

std::string tpsp::rt::patternDefinitions() {
  std::string text = definition("exposed", "exposed", "",
                                fmt::format("stroke='{}'", exposedColour));
  for (const Look &look : looks)
    if (*look.pattern)
      text += definition(idOf(look), look.pattern, look.fill,
                         "stroke='#000' stroke-opacity='0.22'");
  return "<defs>" + text + "</defs>";
}

std::string tpsp::rt::criticalStroke() {
  return fmt::format("fill='none' stroke='{}' stroke-width='2'",
                     criticalColour);
}

/// Bars narrower than this are drawn together with their neighbours.
static constexpr double narrow = 1.5;
/// Gaps narrower than this are not visible.
static constexpr double invisible = 0.05;

namespace {

/// Bars of one look in one lane.
class Bars {
public:
  /// Bars that are drawn together have the colour `plain`.
  Bars(SvgDocument &svg, const TimeScale &time, double y, double height,
       std::string attributes, const char *plain)
      : svg(svg), time(time), y(y), height(height),
        attributes(std::move(attributes)), plain(plain) {}
  ~Bars() {
    flush();
    if (!runs.empty())
      svg.path(runs, fmt::format("fill='{}'", plain));
  }

  /// Adds a bar; bars are added in order of time. `title` is called only if
  /// there is room.
  template <typename Title> void add(double begin, double end, Title title) {
    double x0 = time.at(begin), x1 = time.at(end);
    if (x1 - x0 < narrow)
      return extend(x0, x1);
    flush();
    svg.rectangle({x0, y, x1 - x0, height}, attributes, title());
  }

private:
  /// Draws narrow bars together. Their widths and gaps are kept, so that a
  /// pixel with many bars has the right shade.
  void extend(double x0, double x1) {
    if (hasRun && x0 - runEnd > invisible)
      flush();
    if (!hasRun)
      runBegin = x0;
    hasRun = true;
    runEnd = std::max(runEnd, x1);
  }
  void flush() {
    if (!hasRun)
      return;
    runs += fmt::format("M{} {}H{}v{}H{}z", coordinate(runBegin), coordinate(y),
                        coordinate(runEnd), coordinate(height),
                        coordinate(runBegin));
    hasRun = false;
    runEnd = 0;
  }

  SvgDocument &svg;
  const TimeScale &time;
  const double y, height;
  const std::string attributes;
  const char *const plain;
  bool hasRun = false;
  double runBegin = 0, runEnd = 0;
  std::string runs;
};

} // namespace

void LaneDrawing::draw(const LaneBox &box) {
  svg.rectangle({left, box.y, right - left, box.height}, "fill='#f3f4f6'");
  drawBars(box);
  drawEnds(box);
  drawExposed(box);
  for (const TraceSpan &bar : box.lane->bars)
    drawName(box, bar);
  drawCritical(box);
}

std::string LaneDrawing::titleOf(const TraceSpan &bar,
                                 const PictureLane &lane) const {
  const PlanCommand &command = plan.commands[bar.command];
  double exposed = lane.exposedSeconds(bar);
  return fmt::format(
      "{}, {}{}{}{}", command.name(), secondsText(bar.seconds()),
      exposed > 0 ? fmt::format(" (exposed {})", secondsText(exposed)) : "",
      command.location.empty() ? "" : ", ", command.location);
}

void LaneDrawing::drawBars(const LaneBox &box) {
  for (const Look &look : looks) {
    Bars bars(svg, time, box.y, box.height,
              fmt::format("fill='{}'", fillOf(look)), look.fill);
    for (const TraceSpan &bar : box.lane->bars)
      if (&lookOf(bar) == &look)
        bars.add(bar.begin, bar.end, [&] { return titleOf(bar, *box.lane); });
  }
}

void LaneDrawing::drawExposed(const LaneBox &box) {
  // The pointer finds the bars under these.
  constexpr const char *attributes = "fill='{}' pointer-events='none'";
  auto none = [] { return std::string(); };
  Bars hatch(svg, time, box.y, box.height, fmt::format(attributes, exposedFill),
             exposedColour);
  Bars line(svg, time, box.y + box.height - exposedLine, exposedLine,
            fmt::format(attributes, exposedColour), exposedColour);
  for (const PictureStretch &stretch : box.lane->exposed) {
    hatch.add(stretch.begin, stretch.end, none);
    line.add(stretch.begin, stretch.end, none);
  }
}

void LaneDrawing::drawCritical(const LaneBox &box) {
  std::string boxes;
  for (const PictureStretch &stretch : box.lane->critical) {
    double x0 = time.at(stretch.begin) + 1;
    double x1 = std::max(time.at(stretch.end) - 1, x0);
    boxes +=
        fmt::format("M{} {}H{}v{}H{}z", coordinate(x0), coordinate(box.y + 1),
                    coordinate(x1), coordinate(box.height - 2), coordinate(x0));
  }
  if (!boxes.empty())
    svg.path(boxes, criticalStroke() + " pointer-events='none'");
}

void LaneDrawing::drawEnds(const LaneBox &box) {
  std::string lines;
  for (const TraceSpan &bar : box.lane->bars)
    if (time.at(bar.end) - time.at(bar.begin) >= 2 * narrow)
      lines += fmt::format("M{} {}v{}", coordinate(time.at(bar.end)),
                           coordinate(box.y), coordinate(box.height));
  if (!lines.empty())
    svg.path(lines, "stroke='#fff' stroke-width='0.7' fill='none'");
}

void LaneDrawing::drawName(const LaneBox &box, const TraceSpan &bar) {
  if (box.height < textSize + 2)
    return;
  const PlanCommand &named = plan.commands[bar.command];
  double x0 = time.at(bar.begin), x1 = time.at(bar.end);
  for (const std::string &text : {named.name(), named.value}) {
    if (text.empty() || textWidth(text, textSize) + 6 > x1 - x0)
      continue;
    svg.text((x0 + x1) / 2, box.y + box.height / 2 + 0.36 * textSize, text,
             {textSize, "middle", "#111", false, lookOf(bar).fill});
    return;
  }
}
