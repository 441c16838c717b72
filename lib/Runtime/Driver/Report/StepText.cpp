#include "tpsp/Runtime/Driver/Report/StepText.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;

std::string tpsp::rt::summaryLine(double stepSeconds, const Exposure &exposure,
                                  int64_t peakBytes) {
  std::string communication =
      exposure.communication > 0
          ? fmt::format("exposed communication {}, hidden {:.0f} %",
                        secondsText(exposure.exposed),
                        100 * exposure.hiddenShare())
          : "no communication";
  return fmt::format("step {}, {}, peak memory {}", secondsText(stepSeconds),
                     communication, bytesText(static_cast<double>(peakBytes)));
}

std::string tpsp::rt::largestConsumers(const Plan &plan) {
  constexpr size_t listed = 3;
  std::vector<int64_t> buffers = memoryUse(plan).liveAtPeak;
  std::string text;
  for (size_t i = 0; i < std::min(listed, buffers.size()); ++i) {
    const PlanBuffer &buffer = plan.buffers[buffers[i]];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        buffer.name.empty() ? "an unnamed value" : buffer.name,
                        bytesText(static_cast<double>(buffer.bytes)));
    if (!buffer.location.empty())
      text += fmt::format(" ({})", buffer.location);
  }
  return text;
}
