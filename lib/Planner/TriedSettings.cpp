#include "TriedSettings.h"

#include "Finalists.h"

#include <algorithm>
#include <limits>

using namespace tpsp;
using namespace tpsp::planner;

static bool rematerialisesMore(const Settings &a, const Settings &b) {
  if (b.rematerialize == "none" || a.rematerialize == b.rematerialize)
    return true;
  Rematerialisation ofA = Rematerialisation::of(a),
                    ofB = Rematerialisation::of(b);
  bool isAll = ofA.layers == 0;
  return ofA.mode == ofB.mode && ofB.layers > 0 &&
         (isAll || ofA.layers >= ofB.layers);
}

/// Whether `a` rematerialises at least as much, in at least as many
/// micro-batches.
static bool doesMore(const Settings &a, const Settings &b) {
  return a.microBatches >= b.microBatches && rematerialisesMore(a, b);
}

void TriedSettings::add(const Evaluation &evaluation) {
  tried.push_back(
      {evaluation.candidate.settings,
       options.overlaps ? evaluation.busiestSeconds() : evaluation.leastWhole(),
       !isMuchTooLarge(evaluation, options)});
}

/// The least seconds with these settings; infinite if they do not fit.
double TriedSettings::leastOf(const Settings &settings) const {
  constexpr double share = 0.95;
  double least = 0;
  for (const Tried &each : tried) {
    if (each.settings == settings)
      return each.mayFit ? each.seconds
                         : std::numeric_limits<double>::infinity();
    if (doesMore(settings, each.settings))
      least = std::max(least, share * each.seconds);
  }
  return least;
}

double TriedSettings::leastSeconds() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Settings &each : all)
    least = std::min(least, leastOf(each));
  return least;
}
