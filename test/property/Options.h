/// What the command line, or the environment, asks for.
#ifndef TPSP_TEST_PROPERTY_OPTIONS_H
#define TPSP_TEST_PROPERTY_OPTIONS_H

#include <cstdint>

namespace tpsp::property {

struct Options {
  uint64_t count = 300;
  uint64_t seed = 1;
  unsigned jobs = 2;
  unsigned shrinkAttempts = 250;
  bool print = false;
};

const Options &options();

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_OPTIONS_H
