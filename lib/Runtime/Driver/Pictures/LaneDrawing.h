/// Draws a rank's stream in the picture of a step: bars for computation and for
/// communication. The latter are split into hidden and exposed stretches.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
#define TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H

#include "TimeScale.h"
#include "tpsp/Runtime/Driver/Pictures/SvgDocument.h"

#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/Exposure.h"

namespace tpsp::rt {

/// The look of a class of commands. The looks are light, middle and dark, so
/// that they differ in grey. The dark one is hatched, too.
struct Look {
  const char *legend;
  /// Colours of a bar, and of text in it.
  const char *fill, *text;
  /// The colour behind text on a pattern; null if none is needed.
  const char *halo;
};
extern const Look computeLook, hiddenLook, exposedLook;
/// The attributes of the critical path's outline.
extern const char *const criticalStroke;
/// The definitions to which the looks refer.
extern const char *const exposedPattern;

/// A stream's position in the picture.
struct Lane {
  size_t stream = 0;
  double y = 0, height = 0;
};

class LaneDrawing {
public:
  LaneDrawing(SvgDocument &svg, const TimeScale &time, const Plan &plan)
      : svg(svg), time(time), plan(plan) {}

  /// `pieces` are those of the rank.
  void draw(const Lane &lane, const TraceRank &rank,
            const std::vector<CommunicationPiece> &pieces);
  /// Draws outlines around the lane's stretches of the critical path.
  void outline(const Lane &lane, const std::vector<CriticalStretch> &stretches);

private:
  /// A stretch of a collective that is hidden, or exposed, throughout.
  struct Stretch {
    int64_t command = 0;
    double begin = 0, end = 0;
    bool isExposed = false;
  };

  static std::vector<Stretch>
  stretchesOf(const std::vector<CommunicationPiece> &pieces, size_t stream);
  bool isCompute(const TraceSpan &span) const {
    return plan.commands[span.command].computes();
  }
  std::string titleOf(int64_t command, double begin, double end,
                      const char *what) const;
  void drawCompute(const Lane &lane, const std::vector<TraceSpan> &spans);
  void drawStretches(const Lane &lane, const std::vector<Stretch> &stretches,
                     bool exposed);
  /// Draws lines between commands that touch.
  void drawEnds(const Lane &lane, const std::vector<TraceSpan> &spans);
  /// Writes each collective's name once, in its longest stretch.
  void drawNames(const Lane &lane, const std::vector<Stretch> &stretches);
  /// Writes "all_gather xn", or "xn", or nothing, depending on the room.
  void drawName(const Lane &lane, double begin, double end, int64_t command,
                const Look &look);

  SvgDocument &svg;
  const TimeScale &time;
  const Plan &plan;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
