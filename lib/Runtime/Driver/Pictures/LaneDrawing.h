/// A rank's stream in the picture of a step: bars for what computes and for
/// what communicates. The latter are split where they are hidden and exposed.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
#define TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H

#include "TimeScale.h"
#include "tpsp/Runtime/Driver/Pictures/SvgDocument.h"

#include "tpsp/Abi/Exposure.h"

namespace tpsp::rt {

/// How a class of commands is drawn. Light, middle and dark, so that they
/// differ in grey; the dark one is hatched, too.
struct Look {
  const char *legend;
  /// Of a bar, and of text in it.
  const char *fill, *text;
  /// Behind text on a pattern; null if it needs none.
  const char *halo;
};
extern const Look computeLook, hiddenLook, exposedLook;
/// Defines what the looks refer to.
extern const char *const exposedPattern;

/// A stream's place in the picture.
struct Lane {
  size_t stream = 0;
  double y = 0, height = 0;
};

class LaneDrawing {
public:
  LaneDrawing(SvgDocument &svg, const TimeScale &time, const Plan &plan)
      : svg(svg), time(time), plan(plan) {}

  /// `pieces`: the rank's.
  void draw(const Lane &lane, const TraceRank &rank,
            const std::vector<CommunicationPiece> &pieces);

private:
  /// A part of a collective that is hidden, or exposed, all through.
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
  /// Lines between commands that touch.
  void drawEnds(const Lane &lane, const std::vector<TraceSpan> &spans);
  /// Each collective's name once, in its longest stretch.
  void drawNames(const Lane &lane, const std::vector<Stretch> &stretches);
  /// "all_gather xn", or "xn", or nothing, as there is room.
  void drawName(const Lane &lane, double begin, double end, int64_t command,
                const Look &look);

  SvgDocument &svg;
  const TimeScale &time;
  const Plan &plan;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_LANEDRAWING_H
