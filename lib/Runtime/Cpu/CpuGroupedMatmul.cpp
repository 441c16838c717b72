// Grouped matmuls on the CPU: a library call for each run of rows that belong
// to one matrix.
#include "CpuMatmul.h"
#include "CpuStream.h"
#include "TermsProduct.h"

#include "tpsp/Abi/ElementType.h"

#include <atomic>
#include <cstring>
#include <omp.h>

namespace tpsp::rt {
namespace {

/// Consecutive rows that belong to one matrix, or to none.
struct Run {
  int64_t begin, length;
  int64_t group; ///< negative: none
};

/// Work that one thread does alone: rows of C, or a matrix of C.
struct Item {
  int64_t m = 0;
  MatmulOffsets at;
  /// The item's part of the list of terms.
  size_t firstTerm = 0, numTerms = 0;
};

class GroupedMatmul final : public CommandState {
public:
  GroupedMatmul(const GroupedMatmulCommand &command, int64_t firstGroup,
                int threads)
      : command(command), ld(command), firstGroup(firstGroup),
        available(threads), points(pointsOf(command.batch)),
        steps(pointsOf(command.accumulate)),
        width(elementBytes(command.dtype)) {}

  Status prepare() {
    // Reserves enough for every step: at worst every row is a run.
    int64_t perPoint = command.sumsRows ? command.groups : command.rows();
    items.reserve(points * perPoint);
    terms.reserve(command.sumsRows ? points * steps * command.rows() : steps);
    runs.reserve(steps * command.rows());
    runEnds.reserve(steps);
    return makeTermsProduct(command, command.dtype, product);
  }

  Status run(const std::byte *a, const std::byte *b, const int32_t *ids,
             std::byte *c, ScratchBuffer &scratch) {
    listItems(ids);
    auto count = static_cast<int64_t>(items.size());
    double flops = 2.0 * double(points * steps) * double(command.m) *
                   double(command.n) * double(command.k);
    int threads = threadsOver(
        count, flops / double(std::max<int64_t>(count, 1)), available);
    size_t perThread = product->scratchBytes();
    std::byte *base = scratch.reserve(perThread * threads);
    if (threads == 1) {
      for (const Item &item : items)
        TPSP_TRY(runItem(item, a, b, c, base));
      return {};
    }
    std::atomic<bool> failed{false};
    Status failure;
    // Runs differ in length.
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < count; ++i) {
      Status status =
          runItem(items[i], a, b, c, base + teamThread() * perThread);
      if (!status.ok() && !failed.exchange(true))
        failure = std::move(status);
    }
    return failure;
  }

private:
  void listItems(const int32_t *ids) {
    items.clear();
    terms.clear();
    if (!command.sumsRows)
      for (int64_t step = 0; step < steps; ++step) {
        MatmulOffsets at = offsetsAt(command.accumulate, step, {});
        terms.push_back({at.a, at.b, command.k});
      }
    for (int64_t i = 0; i < points; ++i) {
      MatmulOffsets point = offsetsAt(command.batch, i, {});
      const int32_t *own =
          ids + idsAt(command.batch, command.idStrides.data(), i);
      command.sumsRows ? addMatrices(point, own) : addRows(point, own);
    }
  }

  /// Computes rows of C. Each run is an item; its terms are the steps.
  void addRows(MatmulOffsets point, const int32_t *ids) {
    runs.clear();
    addRuns(ids);
    for (const Run &run : runs) {
      Item item{run.length, point};
      item.at.a += run.begin * rowStrideA();
      item.at.c += run.begin * ld.c;
      if (run.group >= 0 && command.k > 0) {
        item.at.b += run.group * command.groupStride;
        item.numTerms = terms.size();
      }
      items.push_back(item);
    }
  }

  /// Computes matrices of C. Each matrix is an item; its terms are its runs.
  void addMatrices(MatmulOffsets point, const int32_t *ids) {
    const int64_t *strides = command.idStrides.data() + command.batch.size();
    runs.clear();
    runEnds.clear();
    for (int64_t step = 0; step < steps; ++step) {
      addRuns(ids + idsAt(command.accumulate, strides, step));
      runEnds.push_back(runs.size());
    }
    for (int64_t group = 0; group < command.groups; ++group) {
      Item item{command.m, point, terms.size(), 0};
      item.at.c += group * command.groupStride;
      size_t next = 0;
      for (int64_t step = 0; step < steps; ++step) {
        MatmulOffsets at = offsetsAt(command.accumulate, step, {});
        for (; next < runEnds[step]; ++next)
          if (const Run &run = runs[next]; run.group == group)
            terms.push_back({at.a + run.begin * rowStrideA(),
                             at.b + run.begin * rowStrideB(), run.length});
      }
      item.numTerms = terms.size() - item.firstTerm;
      items.push_back(item);
    }
  }

  /// Adds the runs of the rows whose integers are at `ids`.
  void addRuns(const int32_t *ids) {
    int64_t rows = command.rows();
    for (int64_t i = 0; i < rows;) {
      int64_t begin = i;
      while (i < rows && ids[i] == ids[begin])
        ++i;
      int64_t group = int64_t(ids[begin]) - firstGroup;
      bool isThere = group >= 0 && group < command.groups;
      runs.push_back({begin, i - begin, isThere ? group : -1});
    }
  }

  /// The position of the first row's integer at point or step `number` of some
  /// loops.
  int64_t idsAt(const std::vector<MatmulLoop> &loops, const int64_t *strides,
                int64_t number) const {
    int64_t at = 0;
    for (size_t i = loops.size(); i-- > 0;) {
      at += number % loops[i].extent * strides[i];
      number /= loops[i].extent;
    }
    return at;
  }

  /// The distance from one row to the next.
  int64_t rowStrideA() const {
    return command.transposeA == command.sumsRows ? ld.a : 1;
  }
  int64_t rowStrideB() const { return command.transposeB ? 1 : ld.b; }

  Status runItem(const Item &item, const std::byte *a, const std::byte *b,
                 std::byte *c, std::byte *scratch) const {
    if (item.m == 0 || command.n == 0)
      return {};
    return product->run({item.m, a + item.at.a * width, b + item.at.b * width,
                         c + item.at.c * width, terms.data() + item.firstTerm,
                         item.numTerms},
                        scratch);
  }

  GroupedMatmulCommand command;
  LeadingDimensions ld;
  int64_t firstGroup;
  int available;
  int64_t points, steps, width;
  std::unique_ptr<TermsProduct> product;
  std::vector<Item> items;
  std::vector<ProductTerm> terms;
  std::vector<Run> runs;
  /// For a matrix of C: the end of each step's runs in `runs`.
  std::vector<size_t> runEnds;
};

} // namespace

Status CpuStream::groupedMatmul(Call &call,
                                const GroupedMatmulCommand &command) {
  if (!call.state) {
    auto prepared = std::make_unique<GroupedMatmul>(
        command, call.positions.front(), threads);
    TPSP_TRY(prepared->prepare());
    call.state = std::move(prepared);
  }
  return static_cast<GroupedMatmul &>(*call.state)
      .run(buffer(call, 0), buffer(call, 1),
           reinterpret_cast<const int32_t *>(buffer(call, 2)), buffer(call, 3),
           scratch);
}

} // namespace tpsp::rt
