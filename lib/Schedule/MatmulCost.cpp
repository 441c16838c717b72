#include "GridPosition.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Schedule/CostModel.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace tpsp;

EpilogueWork tpsp::additionWork(const MatmulWork &product,
                                int64_t elementBytes) {
  double results =
      double(product.m) * double(product.n) * double(product.batch);
  double narrow = double(elementBytes),
         wide = std::max<double>(narrow, sizeof(float));
  return {results, 0, 2 * results * wide, results * (2 * wide - narrow)};
}

/// The logarithm of the rate inside the grid (shares from 0 to 1), linear in
/// the logarithms of m, n and k.
static double logRateAt(const MatmulRates &rates, size_t layout,
                        const std::array<GridPosition, 3> &at) {
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::array<size_t, 3> index;
    for (int d = 0; d < 3; ++d) {
      bool isHigh = corner >> d & 1;
      weight *= isHigh ? at[d].share : 1 - at[d].share;
      index[d] = at[d].low + isHigh;
    }
    if (weight != 0)
      sum += weight * std::log(rates.at(index[0], index[1], index[2], layout));
  }
  return sum;
}

/// Tiles along m, along n or in a batch fill a device equally well. So an
/// extent beyond the grid on one of these is moved to another that has room.
static void foldIntoGrid(const MatmulRates &rates, double &m, double &n,
                         double batch) {
  double &smaller = m < n ? m : n;
  double limit = m < n ? rates.m.back() : rates.n.back();
  double room = std::max(1.0, limit / smaller);
  double taken = std::min(room, batch);
  smaller *= taken;
  (m < n ? m : n) *= batch / taken;
  auto fold = [](double &from, double fromLimit, double &to, double toLimit) {
    double taken =
        std::min(std::max(1.0, from / fromLimit), std::max(1.0, toLimit / to));
    from /= taken;
    to *= taken;
  };
  fold(m, rates.m.back(), n, rates.n.back());
  fold(n, rates.n.back(), m, rates.m.back());
}

/// The logarithm of the rate if `at` may lie outside the grid. The rate is
/// extrapolated for one more interval. But neither the rate nor the time falls
/// as the size grows, because a smaller product takes no longer. Further out,
/// the time is constant below the grid (a tile is filled with zeroes), and the
/// rate is constant above it.
static double logRateBeside(const MatmulRates &rates, size_t layout,
                            const std::array<GridPosition, 3> &at) {
  std::array<GridPosition, 3> inside = at;
  for (GridPosition &position : inside)
    position.share = std::clamp(position.share, 0.0, 1.0);
  double result = logRateAt(rates, layout, inside);
  const std::vector<double> *axes[] = {&rates.m, &rates.n, &rates.k};
  for (int d = 0; d < 3; ++d) {
    double beyond = at[d].share - inside[d].share;
    if (beyond == 0)
      continue;
    std::array<GridPosition, 3> low = inside, high = inside;
    low[d].share = 0;
    high[d].share = 1;
    const std::vector<double> &axis = *axes[d];
    double width = std::log(axis[at[d].low + 1] / axis[at[d].low]);
    double slope =
        logRateAt(rates, layout, high) - logRateAt(rates, layout, low);
    result += std::clamp(slope, 0.0, width) * std::clamp(beyond, -1.0, 1.0);
    result += width * std::min(beyond + 1, 0.0);
  }
  return result;
}

static double alignedFactor(const MatmulRates &rates, int64_t alignment) {
  for (const SizePoint &point : rates.aligned)
    if (double(alignment) <= point.bytes)
      return point.value;
  return 1;
}

double tpsp::matmulRate(const MatmulRates &rates, const MatmulWork &work) {
  double m = std::max<int64_t>(work.m, 1), n = std::max<int64_t>(work.n, 1),
         k = std::max<int64_t>(work.k, 1);
  foldIntoGrid(rates, m, n, std::max<int64_t>(work.batch, 1));
  size_t layout = MatmulRates::layoutOf(work.transposeA, work.transposeB);
  double rate =
      std::exp(logRateBeside(rates, layout,
                             {positionOn(rates.m, m), positionOn(rates.n, n),
                              positionOn(rates.k, k)}));
  return std::min(rate, rates.sustained) *
         alignedFactor(rates, work.alignment) *
         (work.isGrouped ? rates.grouped : 1);
}

static double matrixBytes(const MatmulWork &work, int64_t dtype) {
  double elements = double(work.m) * double(work.k) +
                    double(work.k) * double(work.n) +
                    double(work.m) * double(work.n);
  return elements * double(work.batch) * double(rt::elementBytes(dtype));
}

/// The rates for an element type, and a factor on them. If no type of its width
/// has rates, takes those of the next wider type, or else of the widest. The
/// factor is the ratio of the widths.
static std::pair<const MatmulRates *, double> ratesFor(const Hardware &hardware,
                                                       int64_t dtype) {
  if (const MatmulRates *rates = matmulRatesOf(hardware, dtype))
    return {rates, 1};
  int64_t wanted = rt::elementBytes(dtype), best = 0;
  const MatmulRates *rates = nullptr;
  for (const auto &[other, candidate] : hardware.matmul) {
    int64_t width = rt::elementBytes(other);
    bool isNearer =
        best < wanted ? width > best : width > wanted && width < best;
    if (!isNearer)
      continue;
    best = width;
    rates = &candidate;
  }
  return {rates, double(best) / double(wanted)};
}

/// Seconds of an epilogue on all cores. At best a GPU runs it concurrently with
/// the product, but it is charged after the product.
double CostModel::epilogueSeconds(const EpilogueWork &work) const {
  const KernelRates &rates = hardware.kernel;
  double cores = hardware.isCpu() ? coresPerRank() : 1;
  return (work.operations / rates.operations +
          work.transcendentals / rates.transcendentals +
          work.elementBytes / rates.cacheBandwidth) /
         cores;
}

double CostModel::productRate(const MatmulWork &work, int64_t dtype) const {
  auto [rates, scale] = ratesFor(hardware, dtype);
  MatmulWork folded = work;
  double cores = 1;
  if (hardware.isCpu()) {
    // A core computes the products of a batch one after the other.
    folded.batch = 1;
    cores = coresPerRank();
  }
  return matmulRate(*rates, folded) * scale * cores;
}

CommandCost CostModel::matmulCost(const MatmulWork &work, int64_t dtype) const {
  if (work.flops() <= 0)
    return withLaunch(0, 0);
  double rate = productRate(work, dtype);
  double memory = memorySeconds(matrixBytes(work, dtype));
  return withLaunch(work.flops() / rate + epilogueSeconds(work.epilogue),
                    memory * double(work.steps) +
                        memorySeconds(work.epilogue.bytes));
}

bool CostModel::addsFaster(const MatmulWork &product, int64_t dtype,
                           double summedBytes) const {
  MatmulWork alone = product, added = product;
  alone.epilogue = {};
  added.epilogue = additionWork(product, rt::elementBytes(dtype));
  // A kernel reads the product, too, which the product alone has written.
  double results =
      double(product.m) * double(product.n) * double(product.batch);
  double bytes =
      added.epilogue.bytes + 2 * results * double(rt::elementBytes(dtype));
  double sums = summedBytes > 0 ? copySeconds(summedBytes) : 0;
  return matmulSeconds(added, dtype) - matmulSeconds(alone, dtype) + sums <
         copySeconds(bytes) - launchSeconds();
}
