/// Draws the lanes of a step's picture (StepPicture.h) as SVG.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
#define TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H

#include "TimeScale.h"
#include "tpsp/Runtime/Driver/Pictures/StepPicture.h"
#include "tpsp/Runtime/Driver/Pictures/SvgDocument.h"

namespace tpsp::rt {

/// The definitions to which the fills refer.
std::string patternDefinitions();
/// The fill of bars of a look, and of exposed communication above them.
std::string fillOf(const Look &look);
inline constexpr const char *exposedFill = "url(#exposed)";
/// The height of the line under exposed communication.
inline constexpr double exposedLine = 4;
/// The attributes of the critical path's outline.
std::string criticalStroke();

/// A lane's position in the picture.
struct LaneBox {
  const PictureLane *lane = nullptr;
  double y = 0, height = 0;
};

class LaneDrawing {
public:
  LaneDrawing(SvgDocument &svg, const TimeScale &time, const Plan &plan)
      : svg(svg), time(time), plan(plan) {}

  void draw(const LaneBox &box);

private:
  const Look &lookOf(const TraceSpan &bar) const {
    return rt::lookOf(lookKind(plan.commands[bar.command]));
  }
  std::string titleOf(const TraceSpan &bar, const PictureLane &lane) const;
  void drawBars(const LaneBox &box);
  void drawExposed(const LaneBox &box);
  void drawCritical(const LaneBox &box);
  /// Draws lines between commands that touch.
  void drawEnds(const LaneBox &box);
  /// Writes "all_gather xn", or "xn", or nothing, depending on the room.
  void drawName(const LaneBox &box, const TraceSpan &bar);

  SvgDocument &svg;
  const TimeScale &time;
  const Plan &plan;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
