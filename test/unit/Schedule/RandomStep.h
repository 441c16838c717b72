/// Random steps for the proof and the analyses under it.
#ifndef TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H
#define TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H

#include "tpsp/Abi/Plan.h"

#include <random>

namespace tpsp {

/// What a random step is like.
struct RandomStepShape {
  int64_t commands = 12, streams = 3, arenaBytes = 128;
  /// Out of a thousand dependences, those that get no event.
  int64_t forgotten = 20;
  /// Out of a thousand temporaries, those that are put somewhere without a look
  /// at what is there.
  int64_t careless = 30;
};

/// A step of kernels and collectives on several streams, with memory and
/// events, that is right but for some chance mistakes. Commands write new
/// buffers, whole or in parts (runs with gaps as well), and read older ones.
Plan randomStep(std::mt19937 &random, const RandomStepShape &shape);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_PLANNER_RANDOMSTEP_H
