/// Plants mistakes in a program's own steps, and counts which of them the check
/// names. That tests the check, and shows how far to trust it on a program.
#ifndef TPSP_CHECK_PLANTED_H
#define TPSP_CHECK_PLANTED_H

#include "tpsp/Check/Check.h"

namespace tpsp::check {

/// The fate of a planted mistake.
enum class PlantedFate {
  Named,     ///< the verdict says it
  Listed,    ///< it is among hypotheses that the numbers do not exclude
  Otherwise, ///< the verdict explains the numbers by something else
  Unnamed,   ///< the numbers are wrong, and nothing explains them
  Missed,    ///< the numbers differ from what is right, and are called right
  Invisible  ///< the numbers are right within rounding
};

} // namespace tpsp::check

namespace tpsp {
template <> struct EnumNames<check::PlantedFate> {
  static constexpr const char *all[] = {"named",   "listed", "otherwise",
                                        "unnamed", "missed", "invisible"};
};
} // namespace tpsp

namespace tpsp::check {

/// A mistake, and what was found.
struct PlantedMistakeReport {
  std::string mistake;
  PlantedFate fate = PlantedFate::Unnamed;
  /// The check's first finding.
  std::string said;
};

/// Plants `count` mistakes, drawn by `seed`, in the steps of `planted`, and
/// checks the dumps by `checker`. Both are of one program. `planted` is in the
/// type of a run, and the checker's is in f64.
rt::Status plantMistakes(const CheckedProgram &planted,
                         const PredictorSettings &settings,
                         NumbersChecker &checker, int64_t count, uint64_t seed,
                         std::vector<PlantedMistakeReport> &out);

/// A line for each fate, with its count, and lines for mistakes that were not
/// named.
std::string toText(const std::vector<PlantedMistakeReport> &planted);

} // namespace tpsp::check

#endif // TPSP_CHECK_PLANTED_H
