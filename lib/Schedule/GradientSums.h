/// The sums of a chunk's gradients over micro-batches.
#ifndef TPSP_SCHEDULE_GRADIENTSUMS_H
#define TPSP_SCHEDULE_GRADIENTSUMS_H

#include "tpsp/Schedule/ChunkWork.h"
#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <set>
#include <vector>

namespace tpsp {

/// Sums over `parts` micro-batches. The plan and the cost model must outlive
/// it.
class GradientSums {
public:
  GradientSums(const Plan &plan, const CostModel &cost, int64_t parts,
               SumOptions options);

  /// Adds the gradient of argument `number`, which has the type and the axes of
  /// `parameter`. Returns the bytes of its sum. If the sum is reduce-scattered
  /// onto the parameter's own axes, it is whole until then.
  int64_t addGradient(int64_t number, const PlanBuffer &parameter);

  /// Finds the gradients that products add to their sums (EpilogueStep::Add).
  /// `isGradient`: by the number of the buffer, whether it passes from the
  /// backward pass to the update. `isUpdate`: whether a command belongs to the
  /// update. There are none with a single micro-batch.
  void findProducts(const std::vector<bool> &isGradient,
                    llvm::function_ref<bool(size_t command)> isUpdate);

  /// Whether products add what would be in this buffer. If so, no such buffer
  /// is needed.
  bool isInProduct(size_t buffer) const { return inProducts[buffer]; }

  /// Seconds of kernels that add the gradients of one more micro-batch.
  double kernelSeconds() const;

  /// Seconds that products take more to add the others.
  double productSeconds() const { return longerProducts; }

  /// Seconds to round f32 sums before they are reduced over ranks.
  double roundingSeconds() const;

private:
  /// Whether the sum of its gradients has more bits than these.
  bool isWidened(const PlanBuffer &gradient) const;

  /// Bytes that a kernel reads and writes to add to a sum of this size. A
  /// gradient of 16 bits is half as large as its sum in f32.
  double bytesToAdd(const PlanBuffer &gradient, double sumBytes) const {
    return sumBytes * (isWidened(gradient) ? 2.5 : 3);
  }

  /// Seconds that a kernel takes to add this buffer to its sum.
  double secondsToAdd(const PlanBuffer &gradient) const;

  void addInProduct(const PlanCommand &product);

  const Plan &plan;
  const CostModel &cost;
  const int64_t parts;
  const SumOptions options;
  /// For each argument, the axes over which its gradient, or a summand of it,
  /// is reduce-scattered.
  std::map<int64_t, std::set<AxisId>> scatters;
  /// By the number of the argument: bytes of the sum, and those to add to it.
  struct Bytes {
    double sum = 0, added = 0;
  };
  std::map<int64_t, Bytes> gradients;
  std::vector<bool> inProducts;
  double longerProducts = 0;
  /// Seconds of sums of operands that such products then leave to kernels: a
  /// product has one epilogue.
  double leftToKernels = 0;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_GRADIENTSUMS_H
