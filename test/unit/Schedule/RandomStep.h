/// Random steps for the proof and its analyses.
#ifndef TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H
#define TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H

#include "tpsp/Abi/Plan.h"

#include <random>

namespace tpsp {

/// The properties of a random step.
struct RandomStepShape {
  int64_t commands = 12, streams = 3, arenaBytes = 128;
  /// Dependences out of a thousand that get no event.
  int64_t forgotten = 20;
  /// Temporaries out of a thousand that are placed anywhere, whatever is there.
  int64_t careless = 30;
};

/// Returns a step of kernels and collectives on several streams, with memory
/// and events. It is right but for some random mistakes. Commands write new
/// buffers, whole or in parts, also runs with gaps, and read older ones.
Plan randomStep(std::mt19937 &random, const RandomStepShape &shape);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H
