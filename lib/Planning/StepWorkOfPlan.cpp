#include "StepWorkOfPlan.h"

#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

static bool isOfUpdate(const tpsp::Plan &plan, const PlanCommand &command) {
  return llvm::any_of(command.accesses, [&](const PlanAccess &access) {
    const PlanBuffer &buffer = plan.buffers[access.buffer];
    return buffer.kind == BufferKind::State ||
           (access.isWrite && buffer.isArgument());
  });
}

/// The least seconds of a kernel, at the machine's best rates for any size.
static double leastKernelSeconds(const PlanCommand &command,
                                 const Hardware &machine) {
  double rate = 0;
  for (const SizePoint &point : machine.memory)
    rate = std::max(rate, point.value);
  double bytes = double(command.bytesRead() + command.bytesWritten());
  return std::max(kernelUnitSeconds(machine, command.kernel),
                  command.kernel.memoryBytes(bytes) / rate);
}

using ProductExtents = std::array<int64_t, 4>;

/// The extents that a product shares with the products of its gradients.
static ProductExtents extentsOf(int64_t m, int64_t n, int64_t k,
                                int64_t batch) {
  ProductExtents extents = {m, n, k, batch};
  std::sort(extents.begin(), extents.end() - 1);
  return extents;
}
static ProductExtents extentsOf(const ProductFacts &product) {
  auto [low, high, k, batch] = shapeOf(product);
  return extentsOf(low, high, k, batch);
}
static ProductExtents extentsOf(const MatmulWork &product) {
  return extentsOf(product.m, product.n, product.k * product.steps,
                   product.batch);
}

/// The extents of products after layers that no other product has.
static std::set<ProductExtents> extentsBehindLayers(const ProgramFacts &facts) {
  std::set<ProductExtents> result;
  for (const ProductFacts &product : facts.products)
    if (product.isBehindLayers && !product.isAttention)
      result.insert(extentsOf(product));
  for (const ProductFacts &product : facts.products)
    if (!product.isBehindLayers && !product.isAttention)
      result.erase(extentsOf(product));
  return result;
}

/// Per buffer, whether a product after layers writes it, or its gradient reads
/// it. A buffer that another product uses does not count, because a kernel may
/// work for that product, too.
static std::vector<bool>
buffersBehindLayers(const tpsp::Plan &plan,
                    const std::set<ProductExtents> &extents) {
  std::vector<bool> isBehind(plan.buffers.size()), isOther(isBehind.size());
  for (const PlanCommand &command : plan.commands)
    if (command.kind == CommandKind::Matmul)
      for (const PlanAccess &access : command.accesses)
        (extents.count(extentsOf(command.matmul)) ? isBehind
                                                  : isOther)[access.buffer] =
            true;
  for (size_t i = 0; i < isBehind.size(); ++i)
    isBehind[i] = isBehind[i] && !isOther[i] && !plan.buffers[i].isArgument();
  return isBehind;
}

StepWork tpsp::workOf(const tpsp::Plan &plan, const Hardware &machine,
                      const ProgramFacts &facts) {
  StepWork work;
  std::vector<bool> isBehind =
      buffersBehindLayers(plan, extentsBehindLayers(facts));
  for (const PlanCommand &command : plan.commands) {
    int64_t times = plan.timesOf(command);
    if (command.kind == CommandKind::Matmul) {
      const MatmulWork &product = command.matmul;
      auto [low, high] = std::minmax(product.m, product.n);
      work.products[{low, high, product.k * product.steps, product.batch}] +=
          times;
    } else if (command.kind == CommandKind::Attention) {
      work.attentions += command.attention.isGradient ? 0 : times;
    } else if (command.kind == CommandKind::Kernel &&
               !isOfUpdate(plan, command)) {
      double seconds = double(times) * leastKernelSeconds(command, machine);
      work.kernelSeconds += seconds;
      if (llvm::any_of(command.accesses, [&](const PlanAccess &access) {
            return isBehind[access.buffer];
          }))
        work.kernelSecondsBehindLayers += seconds;
    }
  }
  return work;
}
