#include "LaneDrawing.h"

#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::rt::frame;

const Look tpsp::rt::computeLook = {"compute", "#d5dbe4", "#222", nullptr};
const Look tpsp::rt::hiddenLook = {"hidden communication", "#69b0a5", "#111",
                                   nullptr};
const Look tpsp::rt::exposedLook = {"exposed communication (nothing computes)",
                                    "url(#exposed)", "#fff", "#ad3218"};

const char *const tpsp::rt::exposedPattern =
    "<defs><pattern id='exposed' width='6' height='6' "
    "patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
    "<rect width='6' height='6' fill='#ad3218'/>"
    "<rect width='1.2' height='6' fill='#f0c9bd'/></pattern></defs>";

const char *const tpsp::rt::criticalStroke =
    "fill='none' stroke='#8a3ffc' stroke-width='2'";

/// Bars narrower than this are drawn together with their neighbours.
static constexpr double narrow = 1.5;
/// Gaps narrower than this are not visible.
static constexpr double invisible = 0.05;

namespace {

/// Bars of one look in one lane.
class Bars {
public:
  Bars(SvgDocument &svg, const TimeScale &time, const Lane &lane,
       const Look &look)
      : svg(svg), time(time), lane(lane), look(look) {}
  ~Bars() {
    flush();
    if (!runs.empty())
      svg.path(runs, fmt::format("fill='{}'", look.fill));
  }

  /// Adds a bar; bars are added in order of time. `title` is called only if
  /// there is room.
  template <typename Title> void add(double begin, double end, Title title) {
    double x0 = time.at(begin), x1 = time.at(end);
    if (x1 - x0 < narrow)
      return extend(x0, x1);
    flush();
    svg.rectangle({x0, lane.y, x1 - x0, lane.height},
                  fmt::format("fill='{}'", look.fill), title());
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
    runs += fmt::format("M{} {}H{}v{}H{}z", coordinate(runBegin),
                        coordinate(lane.y), coordinate(runEnd),
                        coordinate(lane.height), coordinate(runBegin));
    hasRun = false;
    runEnd = 0;
  }

  SvgDocument &svg;
  const TimeScale &time;
  const Lane &lane;
  const Look &look;
  bool hasRun = false;
  double runBegin = 0, runEnd = 0;
  std::string runs;
};

} // namespace

std::vector<LaneDrawing::Stretch>
LaneDrawing::stretchesOf(const std::vector<CommunicationPiece> &pieces,
                         size_t stream) {
  std::vector<Stretch> stretches;
  for (const CommunicationPiece &piece : pieces) {
    if (piece.stream != static_cast<int64_t>(stream))
      continue;
    bool goesOn = !stretches.empty() &&
                  stretches.back().command == piece.command &&
                  stretches.back().isExposed == piece.isExposed() &&
                  stretches.back().end >= piece.begin;
    if (goesOn)
      stretches.back().end = piece.end;
    else
      stretches.push_back(
          {piece.command, piece.begin, piece.end, piece.isExposed()});
  }
  return stretches;
}

void LaneDrawing::draw(const Lane &lane, const TraceRank &rank,
                       const std::vector<CommunicationPiece> &pieces) {
  svg.rectangle({left, lane.y, right - left, lane.height}, "fill='#f3f4f6'");
  const std::vector<TraceSpan> &spans = rank.streams[lane.stream];
  drawCompute(lane, spans);
  std::vector<Stretch> stretches = stretchesOf(pieces, lane.stream);
  drawStretches(lane, stretches, /*exposed=*/false);
  drawStretches(lane, stretches, /*exposed=*/true);
  drawEnds(lane, spans);
  drawNames(lane, stretches);
}

void LaneDrawing::outline(const Lane &lane,
                          const std::vector<CriticalStretch> &stretches) {
  std::string boxes;
  for (const CriticalStretch &stretch : stretches) {
    if (stretch.stream != lane.stream)
      continue;
    double x0 = time.at(stretch.begin) + 1;
    double x1 = std::max(time.at(stretch.end) - 1, x0);
    boxes += fmt::format("M{} {}H{}v{}H{}z", coordinate(x0),
                         coordinate(lane.y + 1), coordinate(x1),
                         coordinate(lane.height - 2), coordinate(x0));
  }
  if (!boxes.empty())
    svg.path(boxes, criticalStroke);
}

std::string LaneDrawing::titleOf(int64_t id, double begin, double end,
                                 const char *what) const {
  const PlanCommand &command = plan.commands[id];
  return fmt::format("{}{}, {}{}{}", command.name(), what,
                     secondsText(end - begin),
                     command.location.empty() ? "" : ", ", command.location);
}

void LaneDrawing::drawCompute(const Lane &lane,
                              const std::vector<TraceSpan> &spans) {
  {
    Bars bars(svg, time, lane, computeLook);
    for (const TraceSpan &span : spans)
      if (isCompute(span))
        bars.add(span.begin, span.end, [&] {
          return titleOf(span.command, span.begin, span.end, "");
        });
  }
  for (const TraceSpan &span : spans)
    if (isCompute(span))
      drawName(lane, span.begin, span.end, span.command, computeLook);
}

void LaneDrawing::drawStretches(const Lane &lane,
                                const std::vector<Stretch> &stretches,
                                bool exposed) {
  Bars bars(svg, time, lane, exposed ? exposedLook : hiddenLook);
  for (const Stretch &stretch : stretches)
    if (stretch.isExposed == exposed)
      bars.add(stretch.begin, stretch.end, [&] {
        return titleOf(stretch.command, stretch.begin, stretch.end,
                       exposed ? " (exposed)" : " (hidden)");
      });
}

void LaneDrawing::drawEnds(const Lane &lane,
                           const std::vector<TraceSpan> &spans) {
  std::string lines;
  for (const TraceSpan &span : spans)
    if (!plan.commands[span.command].isEvent() &&
        time.at(span.end) - time.at(span.begin) >= 2 * narrow)
      lines += fmt::format("M{} {}v{}", coordinate(time.at(span.end)),
                           coordinate(lane.y), coordinate(lane.height));
  if (!lines.empty())
    svg.path(lines, "stroke='#fff' stroke-width='0.7' fill='none'");
}

void LaneDrawing::drawNames(const Lane &lane,
                            const std::vector<Stretch> &stretches) {
  for (size_t i = 0; i < stretches.size();) {
    const Stretch *longest = &stretches[i];
    for (int64_t command = longest->command;
         i < stretches.size() && stretches[i].command == command; ++i)
      if (stretches[i].end - stretches[i].begin > longest->end - longest->begin)
        longest = &stretches[i];
    drawName(lane, longest->begin, longest->end, longest->command,
             longest->isExposed ? exposedLook : hiddenLook);
  }
}

void LaneDrawing::drawName(const Lane &lane, double begin, double end,
                           int64_t command, const Look &look) {
  if (lane.height < textSize + 2)
    return;
  const PlanCommand &named = plan.commands[command];
  for (const std::string &text : {named.name(), named.value}) {
    double x0 = time.at(begin), x1 = time.at(end);
    if (text.empty() || textWidth(text, textSize) + 6 > x1 - x0)
      continue;
    svg.text((x0 + x1) / 2, lane.y + lane.height / 2 + 0.36 * textSize, text,
             {textSize, "middle", look.text, false, look.halo});
    return;
  }
}
