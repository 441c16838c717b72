#include "MatmulWithEpilogue.h"

#include "tpsp/Abi/ElementType.h"

#include <cmath>

namespace tpsp::rt {
namespace {

/// The same formula as the compiler's (Operations/ScalarFunctions.cpp): x
/// sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr double geluC = 0.79788456080286535588, geluA = 0.044715;

double geluGate(double x) {
  return 1 / (1 + std::exp(-2 * geluC * x * (1 + geluA * x * x)));
}

double gelu(double x) { return x * geluGate(x); }

double geluSlope(double x) {
  double gate = geluGate(x);
  return gate + x * gate * (1 - gate) * 2 * geluC * (1 + 3 * geluA * x * x);
}

class EpilogueMatmul final : public MatmulWithEpilogue {
public:
  EpilogueMatmul(const MatmulCommand &command, int threads)
      : command(command), threads(threads), ld(command) {}

  Status prepare() {
    MatmulCommand alone = command;
    alone.epilogue.clear();
    return prepareMatmul(alone, threads, product);
  }

  Status run(const MatmulBuffers &buffers, ScratchBuffer &scratch) override {
    TPSP_TRY(product->run(buffers[0], buffers[1], buffers[2], scratch));
    if (command.epilogue[0] == EpilogueStep::SumA)
      sumOperand(buffers[0], buffers[3], command.m, ld.a, command.transposeA);
    else if (command.epilogue[0] == EpilogueStep::SumB)
      sumOperand(buffers[1], buffers[3], command.n, ld.b, !command.transposeB);
    else
      finishResults(buffers);
    return {};
  }

private:
  double load(const std::byte *buffer, int64_t element) const {
    return loadFloat(buffer, command.dtype, element);
  }
  void store(double value, std::byte *buffer, int64_t element) const {
    storeFloat(value, command.dtype, buffer, element);
  }

  void finishResults(const MatmulBuffers &buffers) const {
    int64_t rows = pointsOf(command.batch) * command.m;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
      int64_t first = offsetsAt(command.batch, row / command.m, {}).c +
                      row % command.m * ld.c;
      for (int64_t column = 0; column < command.n; ++column)
        finish(buffers, first + column, column);
    }
  }

  /// Finishes the result at `place`: the position of an element in C, and in
  /// buffers laid out as C is.
  void finish(const MatmulBuffers &buffers, int64_t place,
              int64_t column) const {
    double x = load(buffers[2], place);
    size_t next = 3;
    for (EpilogueStep step : command.epilogue) {
      std::byte *buffer = hasBuffer(step) ? buffers[next++] : nullptr;
      if (step == EpilogueStep::Bias)
        x += load(buffer, column);
      else if (step == EpilogueStep::Keep)
        store(x, buffer, place);
      else if (step == EpilogueStep::Gelu)
        x = gelu(x);
      else
        x *= geluSlope(load(buffer, place));
    }
    store(x, buffers[2], place);
  }

  /// result[i] = the sum of the operand over k. Positions i are adjacent in
  /// memory if `keptIsInner`. Otherwise they are `pitch` apart, and positions k
  /// are adjacent.
  void sumOperand(const std::byte *operand, std::byte *result, int64_t kept,
                  int64_t pitch, bool keptIsInner) const {
    int64_t keptStride = keptIsInner ? 1 : pitch;
    int64_t summedStride = keptIsInner ? pitch : 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < kept; ++i) {
      double total = 0;
      for (int64_t k = 0; k < command.k; ++k)
        total += load(operand, i * keptStride + k * summedStride);
      store(total, result, i);
    }
  }

  const MatmulCommand command;
  const int threads;
  const LeadingDimensions ld;
  std::unique_ptr<PreparedMatmul> product;
};

} // namespace

Status prepareMatmulWithEpilogue(const MatmulCommand &command, int threads,
                                 std::unique_ptr<MatmulWithEpilogue> &out) {
  auto prepared = std::make_unique<EpilogueMatmul>(command, threads);
  TPSP_TRY(prepared->prepare());
  out = std::move(prepared);
  return {};
}

} // namespace tpsp::rt
