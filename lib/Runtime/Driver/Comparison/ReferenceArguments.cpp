#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/HostMemory.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::rt;

Status tpsp::rt::wholeArguments(const PlanDescription &description,
                                const TensorSource &source,
                                std::vector<reference::Tensor> &out) {
  for (const PlanBuffer &tensor : description.plan->tensors()) {
    if (!tensor.isArgument())
      continue;
    const reference::ValueType &type =
        reference::argumentType(description.reference, out.size());
    std::vector<double> values;
    TPSP_TRY(source.whole(tensor, values));
    out.push_back({type.indices, type.shape, std::move(values)});
  }
  return {};
}

Status tpsp::rt::checkReferenceMemory(const reference::Program &program,
                                      const std::string &subject,
                                      const std::string &wayOut) {
  return checkHostMemory(reference::leastBytes(program), subject, wayOut);
}

Status tpsp::rt::checkHostMemory(int64_t needed, const std::string &subject,
                                 const std::string &wayOut) {
  int64_t available = availableHostBytes();
  if (available < 0 || needed <= available)
    return {};
  return invalid("{} takes at least {:.2f} GiB of memory, but {:.2f} GiB are "
                 "available; {}",
                 subject, gibibytes(needed), gibibytes(available), wayOut);
}
