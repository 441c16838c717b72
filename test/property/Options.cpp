#include "Options.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

using namespace tpsp::property;

static Options &mutableOptions() {
  static Options options;
  return options;
}

const Options &tpsp::property::options() { return mutableOptions(); }

template <typename Number>
static bool parse(const std::string &text, Number &number) {
  const char *end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// Takes "--name=value". Returns false if `argument` is something else.
static bool take(const std::string &argument) {
  Options &options = mutableOptions();
  if (argument == "--print")
    return options.print = true;
  if (argument == "--default-data")
    return options.defaultData = true;
  size_t equals = argument.find('=');
  if (equals == std::string::npos)
    return false;
  std::string name = argument.substr(0, equals);
  std::string value = argument.substr(equals + 1);
  if (name == "--count")
    return parse(value, options.count);
  if (name == "--seed")
    return parse(value, options.seed);
  if (name == "--jobs")
    return parse(value, options.jobs) && options.jobs > 0;
  if (name == "--planted")
    return parse(value, options.planted);
  if (name == "--shrink")
    return parse(value, options.shrinkAttempts);
  if (name == "--element") {
    options.element = value;
    return value == "f64" || value == "f32" || value == "bf16" ||
           value == "f16";
  }
  return false;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  Options &options = mutableOptions();
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  options.isNightly = std::getenv("TPSP_NIGHTLY");
  if (const char *seed = std::getenv("TPSP_TEST_SEED"))
    parse(seed, options.seed);
  for (int i = 1; i < argc; ++i)
    if (!take(argv[i])) {
      std::cerr << "RandomPrograms: '" << argv[i]
                << "' is none of --count=N, --seed=N, --jobs=N, --shrink=N "
                   "(attempts for each failure), --element=f64|f32|bf16|f16, "
                   "--default-data and --print\n";
      return 2;
    }
  return RUN_ALL_TESTS();
}
