#include "GradientSums.h"

#include "tpsp/Abi/ElementType.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

static bool isDivided(const PlanBuffer &tensor, AxisId axis) {
  return llvm::any_of(tensor.axes, [&](const std::vector<int64_t> &list) {
    return llvm::is_contained(list, int64_t(axis));
  });
}

static std::map<int64_t, std::set<AxisId>> findScatters(const Plan &plan) {
  std::map<int64_t, std::set<AxisId>> scatters;
  for (const LedgerRow &row : plan.ledger)
    for (int64_t argument : row.gradients)
      for (AxisId axis = 0; axis < plan.mesh.size(); ++axis)
        if (row.kind == CollectiveKind::ReduceScatter &&
            llvm::is_contained(row.axes, plan.mesh[axis].name))
          scatters[argument].insert(axis);
  return scatters;
}

static bool hasSixteenBits(const PlanBuffer &tensor) {
  return tensor.dtype == TPSP_RT_BF16 || tensor.dtype == TPSP_RT_F16;
}

GradientSums::GradientSums(const Plan &plan, const CostModel &cost,
                           int64_t parts, SumOptions options)
    : plan(plan), cost(cost), parts(parts), options(options),
      scatters(findScatters(plan)), inProducts(plan.buffers.size()) {}

bool GradientSums::isWidened(const PlanBuffer &gradient) const {
  return options.areWide() && hasSixteenBits(gradient);
}

int64_t GradientSums::addGradient(int64_t number, const PlanBuffer &parameter) {
  bool isWide = parts > 1 && isWidened(parameter);
  int64_t bytes = isWide ? 2 * parameter.bytes : parameter.bytes;
  if (auto scattered = scatters.find(parameter.number);
      scattered != scatters.end())
    for (AxisId axis : scattered->second)
      if (isDivided(parameter, axis))
        bytes *= plan.mesh[axis].size;
  gradients[number] = {double(bytes), bytesToAdd(parameter, double(bytes))};
  return bytes;
}

/// Whether the access is to a product's result C, not to a sum of an operand.
static bool isResult(const PlanCommand &command, const PlanAccess &access) {
  if (command.kind != CommandKind::Matmul || !access.isWrite ||
      command.matmul.isGrouped)
    return false;
  const MatmulWork &work = command.matmul;
  int64_t bytes =
      work.m * work.n * work.batch * rt::elementBytes(command.dtype);
  return access.part.bytes() == bytes;
}

/// Bytes of the operands that the product's epilogue sums.
static double summedBytes(const PlanCommand &product) {
  const MatmulWork &work = product.matmul;
  double bytes = 0, rows = double(work.k) * double(work.batch) *
                           double(work.steps) *
                           double(rt::elementBytes(product.dtype));
  for (rt::EpilogueStep step : product.epilogue)
    bytes += step == rt::EpilogueStep::SumA   ? rows * double(work.m)
             : step == rt::EpilogueStep::SumB ? rows * double(work.n)
                                              : 0;
  return bytes;
}

void GradientSums::findProducts(
    const std::vector<bool> &isGradient,
    llvm::function_ref<bool(size_t command)> isUpdate) {
  if (parts == 1 || !options.inProducts)
    return;
  std::vector<bool> isOther(plan.buffers.size());
  for (auto [i, command] : llvm::enumerate(plan.commands))
    for (const PlanAccess &access : command.accesses) {
      if (isUpdate(i))
        continue;
      bool isAdded =
          isResult(command, access) &&
          cost.addsFaster(command.matmul, command.dtype, summedBytes(command));
      (isAdded ? inProducts : isOther)[access.buffer] = true;
    }
  // Sums have the type that products are summed in.
  for (auto [number, buffer] : llvm::enumerate(plan.buffers))
    if (!isGradient[number] || isOther[number] ||
        (hasSixteenBits(buffer) && !options.areWide()))
      inProducts[number] = false;
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses)
      if (inProducts[access.buffer] && isResult(command, access))
        addInProduct(command);
}

void GradientSums::addInProduct(const PlanCommand &product) {
  MatmulWork work = product.matmul;
  if (double bytes = summedBytes(product); bytes > 0)
    leftToKernels += cost.copySeconds(bytes);
  longerProducts -= cost.matmulSeconds(work, product.dtype);
  work.epilogue = additionWork(work, rt::elementBytes(product.dtype));
  longerProducts += cost.matmulSeconds(work, product.dtype);
}

double GradientSums::secondsToAdd(const PlanBuffer &gradient) const {
  double bytes = double(gradient.bytes) * (isWidened(gradient) ? 2 : 1);
  return cost.copySeconds(bytesToAdd(gradient, bytes));
}

double GradientSums::kernelSeconds() const {
  if (parts == 1)
    return 0;
  double seconds = 0;
  for (const auto &[argument, bytes] : gradients)
    seconds += cost.copySeconds(bytes.added);
  for (size_t i = 0; i < inProducts.size(); ++i)
    if (inProducts[i])
      seconds -= secondsToAdd(plan.buffers[i]);
  // A product may compute a part of a gradient that the update puts together.
  return std::max(0.0, seconds) + leftToKernels;
}

double GradientSums::roundingSeconds() const {
  if (parts == 1)
    return 0;
  std::set<int64_t> reduced;
  for (const LedgerRow &row : plan.ledger)
    reduced.insert(row.gradients.begin(), row.gradients.end());
  double seconds = 0;
  for (const PlanBuffer &buffer : plan.buffers)
    if (buffer.kind == BufferKind::Parameter && isWidened(buffer) &&
        reduced.count(buffer.number))
      seconds += cost.copySeconds(1.5 * gradients.at(buffer.number).sum);
  return seconds;
}
