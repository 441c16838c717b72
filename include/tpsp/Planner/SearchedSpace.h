/// Which plans a search is about. What it claims of its best plan names them,
/// so that nobody takes them for all plans that there are.
#ifndef TPSP_PLANNER_SEARCHEDSPACE_H
#define TPSP_PLANNER_SEARCHEDSPACE_H

#include "tpsp/Planner/Candidate.h"

#include <string>
#include <vector>

namespace tpsp::planner {

struct SearchedSpace {
  unsigned maxAxes = 3;
  /// As in SearchOptions. Without plans of stages, those are empty.
  std::vector<Settings> settings = {{}}, stageSettings = {};
  /// As they were given: "b@dp=4".
  std::vector<std::string> pins = {};
};

/// "with at most 3 axes and 1, 2, 4 or 8 micro-batches", behind "no plan".
std::string plansText(const SearchedSpace &space);

/// All of it: "at most 3 axes; the fewest that fit of 1, 2, 4 or 8
/// micro-batches; the least that fits of no, selective or full
/// rematerialisation".
std::string spaceText(const SearchedSpace &space);

/// Each number of micro-batches, ascending; likewise chunks of a stage.
std::vector<int64_t> microBatchesOf(const std::vector<Settings> &settings);
std::vector<int64_t> chunksOf(const std::vector<Settings> &settings);
/// Each rematerialisation, and each schedule, in the order of the settings.
std::vector<std::string>
rematerialisationsOf(const std::vector<Settings> &settings);
std::vector<std::string> schedulesOf(const std::vector<Settings> &settings);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SEARCHEDSPACE_H
