#include "tpsp/Planner/Bounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

Bounds::Bounds(ProgramFacts program, Hardware hardware, BoundOptions given)
    : facts(std::move(program)), options(given),
      cost(std::move(hardware),
           Mesh({{"all", given.devices, AxisRole::None}})) {}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

static bool isOn(const AxisUse &use, ClassId id) {
  return use.activations == id || llvm::is_contained(use.parameters, id);
}

/// Whether an axis that is as written may divide what it will.
static bool isOpen(const AxisUse &use) {
  return !use.activations && use.parameters.empty();
}

/// Of one product with its launch, however it is transposed.
double Bounds::alone(const MatmulWork &work, int64_t dtype) const {
  const MatmulRates *rates = matmulRatesOf(cost.machine(), dtype);
  bool hasLayouts =
      rates && llvm::any_of(rates->relative,
                            [](const auto &each) { return !each.empty(); });
  double best = cost.matmulSeconds(work, dtype);
  for (int layout = 1; hasLayouts && layout < 4; ++layout) {
    MatmulWork other = work;
    other.transposeA = layout & 2;
    other.transposeB = layout & 1;
    best = std::min(best, cost.matmulSeconds(other, dtype));
  }
  return best;
}

static std::vector<ProductFacts::Dim> dimsOf(const ProductFacts &product) {
  std::vector<ProductFacts::Dim> dims;
  product.forEachDim(
      [&](const ProductFacts::Dim &dim) { dims.push_back(dim); });
  return dims;
}

/// Forward and backward, each dimension divided into so many parts.
double Bounds::shapeSeconds(const ProductFacts &product,
                            const std::vector<int64_t> &parts) const {
  auto [found, isNew] = shapes.try_emplace({&product, parts}, 0);
  if (!isNew)
    return found->second;
  size_t next = 0;
  auto extent = [&](const std::vector<ProductFacts::Dim> &group) {
    int64_t result = 1;
    for (const ProductFacts::Dim &dim : group)
      result *= std::max<int64_t>(dim.extent / parts[next++], 1);
    return result;
  };
  int64_t m = extent(product.m), n = extent(product.n), k = extent(product.k),
          batch = extent(product.batch);
  // What is no matrix product, is part of a kernel.
  if (m == 1 || n == 1 || k == 1)
    return 0;
  auto seconds = [&](int64_t rows, int64_t columns, int64_t sum) {
    return alone({rows, columns, sum, batch}, product.dtype);
  };
  double forA = seconds(m, k, n), forB = seconds(k, n, m);
  double total = seconds(m, n, k);
  if (options.hasGradients && product.adjoints == 1)
    total += std::min(forA, forB);
  if (options.hasGradients && product.adjoints == 2)
    total += forA + forB;
  return found->second = total;
}

double Bounds::productSeconds(const ProductFacts &product,
                              const SpaceNode &node) const {
  std::vector<ProductFacts::Dim> dims = dimsOf(product);
  std::vector<std::vector<int64_t>> ways = {
      std::vector<int64_t>(dims.size(), 1)};
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool mayBeAny = isOpen(axis.use) ||
                    (axis.use.storesParameters && product.readsParameter);
    std::vector<std::vector<int64_t>> next;
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (mayBeAny || isOn(axis.use, dims[dim].index))
        for (std::vector<int64_t> way : ways) {
          way[dim] *= axis.size;
          next.push_back(std::move(way));
        }
    if (!next.empty())
      ways = std::move(next);
  }
  double best = shapeSeconds(product, ways.front());
  for (const std::vector<int64_t> &way : ways)
    best = std::min(best, shapeSeconds(product, way));
  double times = 1 + (options.hasGradients ? double(product.adjoints) : 0);
  double launches = std::min(best, times * cost.launchSeconds());
  return launches + (best - launches) / double(node.remaining);
}

/// FLOP/s of a rank that no attention of this type exceeds.
double Bounds::bestAttentionRate(const ProductFacts &product) const {
  const Hardware &machine = cost.machine();
  double best = 0;
  for (const auto &[dtype, rates] : machine.matmul)
    best = std::max({best, rates.sustained, rates.peak});
  if (const AttentionRates *rates = attentionRatesOf(machine, product.dtype))
    for (const AttentionRates::Table &table : rates->tables)
      for (double rate : table)
        best = std::max(best, rate);
  return best * (machine.isCpu() ? cost.coresPerRank() : 1);
}

/// Forward and backward in one call each. Heads and queries are many enough to
/// fill a device.
double Bounds::callSeconds(const ProductFacts &product, double parts) const {
  PlanCommand call;
  call.kind = CommandKind::Attention;
  call.dtype = product.dtype;
  call.attention = *product.inOneCall;
  auto seconds = [&](bool isGradient) {
    call.attention.isGradient = isGradient;
    double launch = cost.launchSeconds();
    return launch + std::max(cost.seconds(call) - launch, 0.0) / parts;
  };
  bool isRedone = options.hasGradients && product.adjoints > 0;
  return seconds(false) + (isRedone ? seconds(true) : 0);
}

double Bounds::attentionSeconds(const ProductFacts &product,
                                const SpaceNode &node) const {
  double parts = double(node.remaining);
  for (const CandidateAxis &axis : node.candidate.axes) {
    bool divides = isOpen(axis.use);
    product.forEachDim([&](const ProductFacts::Dim &dim) {
      divides |= isOn(axis.use, dim.index);
    });
    if (divides)
      parts *= double(axis.size);
  }
  if (product.inOneCall && options.callsAttention)
    return callSeconds(product, parts);
  double times = 1 + (options.hasGradients ? double(product.adjoints) : 0);
  return times * product.flops / bestAttentionRate(product) / parts;
}

/// An update reads parameter, gradient and state, and writes all but the
/// gradient.
double Bounds::updateSeconds(const SpaceNode &node) const {
  if (options.stateBytes == 0)
    return 0;
  double rate = 0;
  for (const SizePoint &point : cost.machine().memory)
    rate = std::max(rate, point.value);
  if (cost.machine().isCpu())
    rate *= std::max(cost.coresPerRank(), 1.0);
  double bytes = 0, parts = double(node.remaining);
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.storesState)
      parts *= double(axis.size);
  double stateShare = double(options.stateBytes) /
                      double(std::max<int64_t>(facts.parameterBytes(), 1));
  for (const TensorFacts &tensor : facts.tensors)
    if (tensor.isTrained && tensor.isFree)
      bytes += localBytes(tensor, node) * (3 + 2 * stateShare);
  return bytes / parts / rate;
}

double Bounds::computeSeconds(const SpaceNode &node) const {
  double seconds = updateSeconds(node);
  for (const ProductFacts &product : facts.products)
    seconds += double(product.count) * (product.isAttention
                                            ? attentionSeconds(product, node)
                                            : productSeconds(product, node));
  return seconds;
}

//===----------------------------------------------------------------------===//
// Links and memory
//===----------------------------------------------------------------------===//

/// The rank's part, as far as the axes so far divide it.
double Bounds::localBytes(const TensorFacts &tensor,
                          const SpaceNode &node) const {
  double bytes = double(tensor.bytes());
  for (const std::vector<unsigned> &axes : subscriptsOf(tensor, node.candidate))
    for (unsigned axis : axes)
      bytes /= double(node.candidate.axes[axis].size);
  return bytes;
}

double Bounds::secondsPerByte(CollectiveKind kind, const SpaceNode &node,
                              unsigned axis) const {
  int64_t inner = node.remaining;
  for (unsigned i = axis + 1; i < node.candidate.axes.size(); ++i)
    inner *= node.candidate.axes[i].size;
  GroupPlace place;
  place.group = place.perNode = node.candidate.axes[axis].size;
  const Hardware &machine = cost.machine();
  if (!machine.isCpu() && options.devices > machine.devicesPerNode) {
    int64_t span = inner * place.group;
    place.nodes =
        std::clamp<int64_t>(span / machine.devicesPerNode, 1, place.group);
    place.perNode = (place.group + place.nodes - 1) / place.nodes;
  }
  auto key = std::tuple(kind, place.group, place.perNode, place.nodes);
  auto [found, isNew] = rates.try_emplace(key, 0);
  if (!isNew)
    return found->second;
  double best = 0;
  for (double bytes = 1 << 10; bytes < 1e12; bytes *= 2)
    if (double each = cost.collectiveSeconds(kind, bytes, place) / bytes;
        best == 0 || each < best)
      best = each;
  return found->second = best;
}

/// Reductions of gradients along a data axis, and gathers of parameters.
double Bounds::dataSeconds(const SpaceNode &node, unsigned axis) const {
  const AxisUse &use = node.candidate.axes[axis].use;
  if (!options.hasGradients || !use.activations)
    return 0;
  double stored = 0, whole = 0;
  for (const TensorFacts &tensor : facts.tensors) {
    if (!tensor.isTrained || !tensor.isFree ||
        !llvm::is_contained(tensor.summed, *use.activations))
      continue;
    std::vector<std::vector<unsigned>> dims =
        subscriptsOf(tensor, node.candidate);
    bool isStored = llvm::any_of(
        dims, [&](const auto &axes) { return llvm::is_contained(axes, axis); });
    double bytes = localBytes(tensor, node) / double(node.remaining);
    (isStored ? stored : whole) += bytes;
  }
  auto rate = [&](CollectiveKind kind) {
    return secondsPerByte(kind, node, axis);
  };
  double size = double(node.candidate.axes[axis].size);
  double parted =
      rate(CollectiveKind::AllGather) + rate(CollectiveKind::ReduceScatter);
  return whole * std::min(rate(CollectiveKind::AllReduce), parted) +
         stored * size * parted;
}

/// Completions of sums along a model axis, forward and backward.
double Bounds::modelSeconds(const SpaceNode &node, unsigned axis) const {
  const AxisUse &use = node.candidate.axes[axis].use;
  double bytes = 0;
  for (const Completion &completion : facts.completions) {
    bool sums = llvm::any_of(completion.sums, [&](ClassId id) {
      return llvm::is_contained(use.parameters, id);
    });
    if (!sums || (completion.isBackward && !options.hasGradients))
      continue;
    double local = double(completion.bytes) / double(node.remaining);
    for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
      const AxisUse &other = node.candidate.axes[i].use;
      if (i != axis && other.activations &&
          llvm::is_contained(completion.dims, *other.activations))
        local /= double(node.candidate.axes[i].size);
    }
    bytes += local;
  }
  auto rate = [&](CollectiveKind kind) {
    return secondsPerByte(kind, node, axis);
  };
  // A result that stays divided is reduced without being gathered here.
  return bytes * std::min(rate(CollectiveKind::AllReduce),
                          rate(CollectiveKind::ReduceScatter));
}

int64_t Bounds::memoryBytes(const SpaceNode &node) const {
  double parameters = 0, gradients = 0, state = 0;
  double stateShare = double(options.stateBytes) /
                      double(std::max<int64_t>(facts.parameterBytes(), 1));
  double stateAxes = 1;
  for (const CandidateAxis &axis : node.candidate.axes)
    if (axis.use.storesState)
      stateAxes *= double(axis.size);
  for (const TensorFacts &tensor : facts.tensors) {
    // What is written as it is, may be on any axis.
    if (tensor.kind != TensorFacts::Kind::Parameter || !tensor.isFree)
      continue;
    double bytes = localBytes(tensor, node);
    parameters += bytes;
    if (options.keepsGradients && tensor.isTrained)
      gradients += bytes;
    if (tensor.isTrained)
      state += bytes * stateShare / stateAxes;
  }
  return int64_t((parameters + gradients + state) / double(node.remaining));
}

Bound Bounds::of(const SpaceNode &node) const {
  double compute = computeSeconds(node), data = 0, model = 0;
  for (unsigned i = 0; i < node.candidate.axes.size(); ++i) {
    const CandidateAxis &axis = node.candidate.axes[i];
    if (axis.size == 1)
      continue;
    if (axis.use.role == AxisRole::Data)
      data = std::max(data, dataSeconds(node, i));
    else
      model = std::max(model, modelSeconds(node, i));
  }
  double seconds = options.overlaps ? std::max({compute, data, model})
                                    : compute + data + model;
  return {seconds, memoryBytes(node)};
}
