/// The picture of a step: lanes with bars, stretches of exposed communication,
/// the critical path, a legend, and their looks.
///
/// The picture is computed here once, and painted twice. TimelineSvg.h paints
/// it into a file that needs no script. The page (Page.h) paints it on a
/// canvas, because it zooms (docs/decisions/0040).
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_STEPPICTURE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_STEPPICTURE_H

#include "tpsp/Abi/AlikeRanks.h"
#include "tpsp/Abi/StepTrace.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tpsp::rt {

/// Strokes in a square of 8 by 8 units, which is repeated: the data of a path,
/// and the width of its strokes.
struct Pattern {
  const char *name, *path;
  double width;
};
extern const std::array<Pattern, 10> patterns;
/// Null if there is none of this name.
const Pattern *findPattern(std::string_view name);

/// The look of bars of one kind. Colours suit dark text. Patterns differ, so
/// that kinds differ in grey, too.
struct Look {
  /// The name of a command's or collective's kind; "" for all others.
  const char *kind, *fill;
  /// The name of its pattern; "" for none.
  const char *pattern;
};
extern const std::array<Look, 10> looks;
const Look &lookOf(std::string_view kind);

/// The colours of exposed communication, whose pattern is "exposed", and of the
/// critical path's outline.
inline constexpr const char *exposedColour = "#a3261b";
inline constexpr const char *criticalColour = "#8a3ffc";

/// The kind of a command, for looks: "matmul", or "all_gather".
const char *lookKind(const PlanCommand &command);

struct PictureStretch {
  double begin = 0, end = 0;
};

/// A stream of a rank.
struct PictureLane {
  size_t stream = 0;
  /// "compute", "comm." or, with several streams for communication, "comm. 2".
  std::string name;
  /// Commands, in order of time. Events are left out.
  std::vector<TraceSpan> bars;
  /// Stretches in which a shown collective runs and nothing computes.
  std::vector<PictureStretch> exposed;
  std::vector<PictureStretch> critical;

  /// The exposed seconds of a bar.
  double exposedSeconds(const TraceSpan &bar) const;
};

/// Ranks that did the same, and their lanes: one for each stream with bars.
struct PictureRanks {
  AlikeRanks alike;
  std::vector<PictureLane> lanes;
};

/// A row of the legend.
struct PictureKind {
  const char *kind;
  /// "matmul 2.32 ms": seconds of a rank, on average.
  std::string text;
};

struct StepPicture {
  std::vector<PictureRanks> ranks;
  /// The kinds of bars, those that take most time first.
  std::vector<PictureKind> kinds;
  /// The shortest commands that are left out, and their seconds.
  size_t leftOut = 0;
  double leftOutSeconds = 0;

  /// Whether some lane has such stretches.
  bool hasExposed() const;
  bool hasCritical() const;
};

inline constexpr const char *exposedText =
    "exposed: nothing computes meanwhile";
inline constexpr const char *criticalText = "critical path";

/// Shows the longest `mostBars` commands. Pauses in the critical path of less
/// than `invisible` seconds are closed.
StepPicture stepPicture(const StepTrace &trace, size_t mostBars,
                        double invisible);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_STEPPICTURE_H
