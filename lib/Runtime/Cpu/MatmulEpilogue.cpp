#include "MatmulEpilogue.h"

#include "EpilogueLoops.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

/// Results that are swept over while they are in the cache; and no fewer rows
/// than make packing the other operand worth while.
constexpr int64_t blockBytes = 1 << 20, minBlockRows = 256;

/// Elements below which one thread is done before others have begun.
constexpr int64_t elementsForTeam = 1 << 14;

int64_t blockRowsOf(const MatmulCommand &command) {
  bool sweeps = command.epilogue[0] != EpilogueStep::SumA &&
                command.epilogue[0] != EpilogueStep::SumB;
  if (!sweeps || pointsOf(command.batch) != 1 || command.n == 0)
    return command.m;
  int64_t rows = blockBytes / (command.n * elementBytes(command.dtype));
  rows = std::max(rows, minBlockRows);
  return command.m < 2 * rows ? command.m : rows;
}

class EpilogueMatmul final : public MatmulWithEpilogue {
public:
  EpilogueMatmul(const MatmulCommand &command, int threads)
      : command(command), threads(threads), ld(command),
        width(elementBytes(command.dtype)), points(pointsOf(command.batch)),
        blockRows(blockRowsOf(command)) {}

  /// The products of a whole block of rows, and of the last one.
  Status prepare();
  Status run(const MatmulBuffers &buffers, ScratchBuffer &scratch) override;

private:
  void finishRows(const MatmulBuffers &buffers, int64_t point, int64_t begin,
                  int64_t end) const;
  EpilogueRow rowsOf(const MatmulBuffers &buffers) const;
  void sumOperand(const MatmulBuffers &buffers) const;

  const MatmulCommand command;
  const int threads;
  const LeadingDimensions ld;
  const int64_t width, points, blockRows;
  std::unique_ptr<PreparedMatmul> block, last;
};

Status EpilogueMatmul::prepare() {
  MatmulCommand product = command;
  product.epilogue.clear();
  product.m = blockRows;
  if (Status s = prepareMatmul(product, threads, block); !s.ok())
    return s;
  product.m = blockRows ? command.m % blockRows : 0;
  return product.m ? prepareMatmul(product, threads, last) : Status();
}

Status EpilogueMatmul::run(const MatmulBuffers &buffers,
                           ScratchBuffer &scratch) {
  if (command.epilogue[0] == EpilogueStep::SumA ||
      command.epilogue[0] == EpilogueStep::SumB) {
    sumOperand(buffers);
    return block->run(buffers[0], buffers[1], buffers[2], scratch);
  }
  if (blockRows == 0)
    return {};
  int64_t rowA = command.transposeA ? 1 : ld.a;
  for (int64_t begin = 0; begin < command.m; begin += blockRows) {
    int64_t end = std::min(begin + blockRows, command.m);
    PreparedMatmul &product = end - begin == blockRows ? *block : *last;
    if (Status s = product.run(buffers[0] + begin * rowA * width, buffers[1],
                               buffers[2] + begin * ld.c * width, scratch);
        !s.ok())
      return s;
    for (int64_t point = 0; point < points; ++point)
      finishRows(buffers, point, begin, end);
  }
  return {};
}

/// The first row of the first point.
EpilogueRow EpilogueMatmul::rowsOf(const MatmulBuffers &buffers) const {
  EpilogueRow row;
  row.c = buffers[2];
  row.columns = command.n;
  size_t next = 3;
  for (EpilogueStep step : command.epilogue) {
    std::byte *buffer = hasBuffer(step) ? buffers[next++] : nullptr;
    if (step == EpilogueStep::Bias)
      row.bias = buffer;
    else if (step == EpilogueStep::Keep)
      row.keep = buffer;
    else if (step == EpilogueStep::Slope)
      row.slope = buffer;
    else
      row.gelu = true;
  }
  return row;
}

void EpilogueMatmul::finishRows(const MatmulBuffers &buffers, int64_t point,
                                int64_t begin, int64_t end) const {
  RowLoop loop = rowLoop(command.dtype);
  const EpilogueRow first = rowsOf(buffers);
  int64_t start = offsetsAt(command.batch, point, {}).c;
  bool isLarge = (end - begin) * command.n >= elementsForTeam;
#pragma omp parallel for num_threads(threads) schedule(static) if (isLarge)
  for (int64_t i = begin; i < end; ++i) {
    int64_t offset = (start + i * ld.c) * width;
    EpilogueRow row = first;
    row.c += offset;
    row.keep = row.keep ? row.keep + offset : nullptr;
    row.slope = row.slope ? row.slope + offset : nullptr;
    loop(row);
  }
}

void EpilogueMatmul::sumOperand(const MatmulBuffers &buffers) const {
  bool ofA = command.epilogue[0] == EpilogueStep::SumA;
  bool keptIsInner = ofA ? command.transposeA : !command.transposeB;
  int64_t pitch = ofA ? ld.a : ld.b, kept = ofA ? command.m : command.n;
  OperandSum sum{buffers[ofA ? 0 : 1], buffers[3], command.k,
                 keptIsInner ? 1 : pitch, keptIsInner ? pitch : 1};
  SumLoop loop = sumLoop(command.dtype);
  // Whole cache lines for each thread, so that none share one.
  int64_t share = (kept / threads / 64 + 1) * 64;
  bool isLarge = kept * command.k >= elementsForTeam;
#pragma omp parallel for num_threads(threads) schedule(static) if (isLarge)
  for (int64_t begin = 0; begin < kept; begin += share)
    loop(sum, begin, std::min(begin + share, kept));
}

} // namespace

Status prepareMatmulWithEpilogue(const MatmulCommand &command, int threads,
                                 std::unique_ptr<MatmulWithEpilogue> &out) {
  auto prepared = std::make_unique<EpilogueMatmul>(command, threads);
  if (Status s = prepared->prepare(); !s.ok())
    return s;
  out = std::move(prepared);
  return {};
}

} // namespace tpsp::rt
