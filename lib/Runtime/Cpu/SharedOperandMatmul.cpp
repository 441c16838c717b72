#include "SharedOperandMatmul.h"

#include "CopyRows.h"

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {
namespace {

/// Runs the merged product. If A's rows are not contiguous, they are copied
/// together first; if C's rows are not, they are copied apart afterwards.
class SharedOperandMatmul final : public PreparedMatmul {
public:
  SharedOperandMatmul(const MatmulCommand &command, const MergedRows &merged,
                      std::unique_ptr<PreparedMatmul> product)
      : merged(merged), product(std::move(product)), m(command.m),
        extent(command.batch[0].extent), width(elementBytes(command.dtype)),
        rowA(command.k * width), rowC(command.n * width),
        pitchA(command.lda * width), pitchC(command.ldc * width),
        strideA(command.batch[0].strideA * width),
        strideC(command.batch[0].strideC * width) {}

  Status run(const std::byte *a, const std::byte *b, std::byte *c,
             ScratchBuffer &scratch) override {
    int64_t bytesA = merged.copiesA ? extent * m * rowA : 0;
    int64_t bytesC = merged.copiesC ? extent * m * rowC : 0;
    std::byte *copyA = scratch.reserve(bytesA + bytesC);
    std::byte *copyC = copyA + bytesA;
    for (int64_t i = 0; merged.copiesA && i < extent; ++i)
      copyRows(copyA + i * m * rowA, rowA, a + i * strideA, pitchA, m, rowA);
    TPSP_TRY(product->run(merged.copiesA ? copyA : a, b,
                          merged.copiesC ? copyC : c, scratch));
    for (int64_t i = 0; merged.copiesC && i < extent; ++i)
      copyRows(c + i * strideC, pitchC, copyC + i * m * rowC, rowC, m, rowC);
    return {};
  }

private:
  MergedRows merged;
  std::unique_ptr<PreparedMatmul> product;
  int64_t m, extent, width, rowA, rowC, pitchA, pitchC, strideA, strideC;
};

/// The cost of packing an element of B, in copied elements. A library packs B
/// again for each product. Packing reads and writes as much as copying, but
/// reads a transposed B slowly. The copies here must stay cheap also if B is
/// not transposed.
constexpr int64_t copiesWorthOneOfB = 4;

} // namespace

std::optional<MergedRows> mergeRows(const MatmulCommand &command) {
  // The scratch memory of a 16-bit product would overlap the copies.
  if (halfFloat(command.dtype) || command.adds() || command.batch.size() != 1 ||
      !command.accumulate.empty())
    return std::nullopt;
  const MatmulLoop &loop = command.batch[0];
  if (loop.strideB != 0 || loop.extent < 2)
    return std::nullopt;
  MergedRows merged;
  merged.copiesA = loop.strideA != command.m * command.lda;
  merged.copiesC = loop.strideC != command.m * command.ldc;
  // If A is transposed, its rows would have to be copied one element at a time.
  if (command.transposeA)
    return std::nullopt;
  int64_t rows = command.m * loop.extent;
  int64_t copied = (merged.copiesA ? rows * command.k : 0) +
                   (merged.copiesC ? rows * command.n : 0);
  if (copiesWorthOneOfB * copied > (loop.extent - 1) * command.k * command.n)
    return std::nullopt;
  merged.command = command;
  merged.command.m = rows;
  merged.command.batch.clear();
  if (merged.copiesA)
    merged.command.lda = command.k;
  if (merged.copiesC)
    merged.command.ldc = command.n;
  return merged;
}

std::unique_ptr<PreparedMatmul>
runMerged(const MatmulCommand &command, const MergedRows &merged,
          std::unique_ptr<PreparedMatmul> product) {
  return std::make_unique<SharedOperandMatmul>(command, merged,
                                               std::move(product));
}

} // namespace tpsp::rt
