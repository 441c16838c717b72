#include "tpsp/Planner/SearchedSpace.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

//===----------------------------------------------------------------------===//
// Values of settings
//===----------------------------------------------------------------------===//

template <typename T>
static std::vector<T> eachOf(const std::vector<Settings> &settings,
                             T Settings::*field) {
  std::vector<T> values;
  for (const Settings &each : settings)
    if (!llvm::is_contained(values, each.*field))
      values.push_back(each.*field);
  return values;
}

static std::vector<int64_t> ascending(std::vector<int64_t> numbers) {
  llvm::sort(numbers);
  return numbers;
}

std::vector<int64_t>
tpsp::planner::microBatchesOf(const std::vector<Settings> &settings) {
  return ascending(eachOf(settings, &Settings::microBatches));
}

std::vector<int64_t>
tpsp::planner::chunksOf(const std::vector<Settings> &settings) {
  return ascending(eachOf(settings, &Settings::chunks));
}

std::vector<std::string>
tpsp::planner::rematerialisationsOf(const std::vector<Settings> &settings) {
  return eachOf(settings, &Settings::rematerialize);
}

std::vector<std::string>
tpsp::planner::schedulesOf(const std::vector<Settings> &settings) {
  return eachOf(settings, &Settings::schedule);
}

//===----------------------------------------------------------------------===//
// Sentences
//===----------------------------------------------------------------------===//

/// "1, 2 or 4".
template <typename T> static std::string anyOf(const std::vector<T> &values) {
  if (values.size() < 2)
    return fmt::format("{}", fmt::join(values, ""));
  return fmt::format("{} or {}",
                     fmt::join(values.begin(), values.end() - 1, ", "),
                     values.back());
}

/// "2 to 8", for ascending numbers.
static std::string rangeOf(const std::vector<int64_t> &numbers) {
  return numbers.front() == numbers.back()
             ? fmt::format("{}", numbers.front())
             : fmt::format("{} to {}", numbers.front(), numbers.back());
}

static std::string plural(const std::string &number, const char *what) {
  return number + " " + what + (number == "1" ? "" : "s");
}

static std::string axesText(const SearchedSpace &space) {
  return fmt::format("at most {} {}", space.maxAxes,
                     space.maxAxes == 1 ? "axis" : "axes");
}

static std::string microBatchText(const std::vector<Settings> &settings) {
  std::vector<int64_t> numbers = microBatchesOf(settings);
  return numbers == std::vector<int64_t>{1} ? "no micro-batches"
                                            : anyOf(numbers) + " micro-batches";
}

static std::string rematerialisationText(const SearchedSpace &space) {
  std::vector<int64_t> layers;
  for (const std::string &each : rematerialisationsOf(space.settings))
    if (Rematerialisation redone = Rematerialisation::of({1, each});
        redone.layers > 0)
      layers.push_back(redone.layers);
  std::vector<std::string> modes;
  for (const std::string &each : rematerialisationsOf(space.settings)) {
    Rematerialisation redone = Rematerialisation::of({1, each});
    if (redone.layers == 0)
      modes.push_back(redone.mode == "none" ? "no" : redone.mode);
    else if (redone.layers == layers.front())
      modes.push_back(fmt::format("{} layers'", rangeOf(layers)));
  }
  std::string text = anyOf(modes) + " rematerialisation";
  return modes.size() > 1 ? "the least that fits of " + text : text;
}

static std::string stagesText(const std::vector<Settings> &settings) {
  return fmt::format("{} stages of {} micro-batches and {}",
                     anyOf(schedulesOf(settings)),
                     rangeOf(microBatchesOf(settings)),
                     plural(rangeOf(chunksOf(settings)), "chunk"));
}

std::string tpsp::planner::plansText(const SearchedSpace &space) {
  std::string text = fmt::format("with {} and {}", axesText(space),
                                 microBatchText(space.settings));
  if (!space.stageSettings.empty())
    text += fmt::format(" (with stages {})",
                        rangeOf(microBatchesOf(space.stageSettings)));
  if (!space.pins.empty())
    text += fmt::format(" and {}", fmt::join(space.pins, ", "));
  if (!space.target.empty())
    text += fmt::format(" that {} can express", space.target);
  return text;
}

std::string tpsp::planner::spaceText(const SearchedSpace &space) {
  std::string parts = microBatchText(space.settings);
  if (microBatchesOf(space.settings).size() > 1)
    parts = "the fewest that fit of " + parts;
  std::string text = fmt::format("{}; {}; {}", axesText(space), parts,
                                 rematerialisationText(space));
  if (!space.stageSettings.empty())
    text += "; " + stagesText(space.stageSettings);
  if (!space.pins.empty())
    text += fmt::format("; {}", fmt::join(space.pins, ", "));
  if (!space.target.empty())
    text += fmt::format("; what {} can express", space.target);
  return text;
}
