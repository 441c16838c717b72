/// Options of the command line or the environment.
#ifndef TPSP_TEST_PROPERTY_OPTIONS_H
#define TPSP_TEST_PROPERTY_OPTIONS_H

#include <cstdint>
#include <string>

namespace tpsp::property {

struct Options {
  uint64_t count = 200;
  uint64_t seed = 1;
  unsigned jobs = 2;
  unsigned shrinkAttempts = 250;
  /// Mistakes that PlantedChecks plants and numbers show.
  uint64_t planted = 40;
  bool print = false;
  /// Whether the environment has TPSP_NIGHTLY.
  bool isNightly = false;
  /// Give arguments the same random data as tpsp-run, which depends on their
  /// use.
  bool defaultData = false;
  /// The type of all programs' numbers; if empty, it is random.
  std::string element;
};

const Options &options();

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_OPTIONS_H
