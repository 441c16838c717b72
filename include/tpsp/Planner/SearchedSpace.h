/// The plans that a search covers. Claims about the best plan name them, so
/// that nobody mistakes them for all possible plans.
#ifndef TPSP_PLANNER_SEARCHEDSPACE_H
#define TPSP_PLANNER_SEARCHEDSPACE_H

#include "tpsp/Planner/Candidate.h"

#include <string>
#include <vector>

namespace tpsp::planner {

struct SearchedSpace {
  unsigned maxAxes = 3;
  /// As in SearchOptions. `stageSettings` is empty if the space has no plans
  /// with stages.
  std::vector<Settings> settings = {{}}, stageSettings = {};
  /// The pins as they were given: "b@dp=4".
  std::vector<std::string> pins = {};
  /// The system that has to be able to express the plans; empty: any.
  std::string target = {};
};

/// "with at most 3 axes and 1, 2, 4 or 8 micro-batches", to follow "no plan".
std::string plansText(const SearchedSpace &space);

/// The whole space: "at most 3 axes; the fewest that fit of 1, 2, 4 or 8
/// micro-batches; the least that fits of no, selective or full
/// rematerialisation".
std::string spaceText(const SearchedSpace &space);

/// The distinct numbers of micro-batches, and of chunks per stage, ascending.
std::vector<int64_t> microBatchesOf(const std::vector<Settings> &settings);
std::vector<int64_t> chunksOf(const std::vector<Settings> &settings);
/// The distinct rematerialisations and schedules, in the order of the settings.
std::vector<std::string>
rematerialisationsOf(const std::vector<Settings> &settings);
std::vector<std::string> schedulesOf(const std::vector<Settings> &settings);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SEARCHEDSPACE_H
