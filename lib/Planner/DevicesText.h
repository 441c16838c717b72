// "8 devices", for tables and messages.
#ifndef TPSP_LIB_PLANNER_DEVICESTEXT_H
#define TPSP_LIB_PLANNER_DEVICESTEXT_H

#include <cstdint>
#include <string>

namespace tpsp::planner {

inline std::string devicesText(int64_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

} // namespace tpsp::planner

#endif // TPSP_LIB_PLANNER_DEVICESTEXT_H
