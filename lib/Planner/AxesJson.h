/// A candidate's axes in JSON, for the matrix and for exports.
#ifndef TPSP_PLANNER_AXESJSON_H
#define TPSP_PLANNER_AXESJSON_H

#include "tpsp/Planner/Candidate.h"

#include <nlohmann/json.hpp>

namespace tpsp::planner {

/// An array with an object for each axis.
inline nlohmann::ordered_json axesJson(const Candidate &candidate) {
  auto axes = nlohmann::ordered_json::array();
  for (const CandidateAxis &axis : candidate.axes)
    axes.push_back({{"name", axis.name},
                    {"size", axis.size},
                    {"role", nameOf(axis.use.role)},
                    {"stores_parameters", axis.use.storesParameters},
                    {"stores_state", axis.use.storesState},
                    {"exchanges_heads", axis.use.heads.has_value()},
                    {"ring", axis.use.ring}});
  return axes;
}

} // namespace tpsp::planner

#endif // TPSP_PLANNER_AXESJSON_H
