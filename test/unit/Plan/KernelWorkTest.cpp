#include "tpsp/InitAll.h"

#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

/// A kernel over rows of 8: a sum, and each element's exponential divided by
/// it. It has a prologue of one store and a loop of 3 loads and additions.
constexpr const char *text = R"mlir(
#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
func.func private @kernel(%x: memref<4x8xf32>, %y: memref<4x8xf32>,
                          %begin: index, %end: index) {
  %sum = memref.alloca() : memref<f32>
  %zero = arith.constant 0.0 : f32
  %step = arith.constant 1 : index
  %from = arith.constant 0 : index
  %to = arith.constant 3 : index
  memref.store %zero, %sum[] : memref<f32>
  scf.for %i = %begin to %end step %step {
    %in = memref.subview %x[%i, 0] [1, 8] [1, 1]
      : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %out = memref.subview %y[%i, 0] [1, 8] [1, 1]
      : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#row, #one],
                    iterator_types = ["reduction"]}
      ins(%in : memref<8xf32, strided<[1], offset: ?>>)
      outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }
    linalg.generic {indexing_maps = [#row, #one, #row],
                    iterator_types = ["parallel"]}
      ins(%in, %sum : memref<8xf32, strided<[1], offset: ?>>, memref<f32>)
      outs(%out : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %e = math.exp %a : f32
      %q = arith.divf %e, %b : f32
      linalg.yield %q : f32
    }
    scf.for %j = %from to %to step %step {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      %w = arith.addf %v, %zero : f32
      %u = memref.load %x[%j, %i] : memref<4x8xf32>
    }
  }
  return
}
)mlir";

/// A kernel of random bits for rows of `columns` elements: position / 4 is the
/// block. If rows are whole blocks, only the column is divided.
std::string randomRows(int64_t columns, bool isWhole) {
  const char *whole = R"(
      %q = arith.divui %c, %four : i64
      %block = arith.addi %row, %q : i64
      %word = arith.remui %c, %four : i64)";
  const char *other = R"(
      %p = arith.addi %row, %c : i64
      %block = arith.divui %p, %four : i64
      %word = arith.remui %p, %four : i64)";
  std::string n = std::to_string(columns), type = "memref<" + n + "xi32>";
  return R"(
func.func private @kernel(%y: )" +
         type + R"(, %row: i64, %begin: index, %end: index) {
  %four = arith.constant 4 : i64
  %step = arith.constant 1 : index
  scf.for %i = %begin to %end step %step {
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                    iterator_types = ["parallel"]} outs(%y : )" +
         type + R"() {
    ^bb0(%old: i32):
      %j = linalg.index 0 : index
      %c = arith.index_cast %j : index to i64)" +
         (isWhole ? whole : other) + R"(
      %bits = tpsp.random_bits %block, %word seed 7
      linalg.yield %bits : i32
    }
  }
  return
})";
}

struct Kernel {
  explicit Kernel(const std::string &text = ::text) {
    DialectRegistry registry;
    tpsp::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    module = parseSourceString<ModuleOp>(text, &context);
  }
  tpsp::KernelWork work(int64_t grid) {
    return tpsp::kernelWork(module->lookupSymbol("kernel"), grid);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST(KernelWork, CountsByHand) {
  tpsp::KernelWork work = Kernel().work(4);
  EXPECT_EQ(work.grid, 4);
  // A row: 8 additions, 8 divisions of 4, 3 additions.
  EXPECT_EQ(work.operations, 4 * (8 + 8 * 4 + 3));
  EXPECT_EQ(work.transcendentals, 4 * 8);
  // A row: 8 in the sum, 8 loads and 8 stores.
  // and 3 loads.
  EXPECT_EQ(work.elementBytes, 4 * (4 * (8 + 8 + 8 + 3)));
  // One store in all, and 3 loads down a column in each row.
  EXPECT_EQ(work.stridedElements, 1 + 4 * 3);
  EXPECT_EQ(work.scatteredElements, 0);
}

/// A block of the generator serves four neighbours only if the loop can share
/// it.
TEST(KernelWork, BlocksAreDrawnAsOftenAsTheyAreShared) {
  auto drawn = [](int64_t columns, bool isWhole) {
    // The other operations are the cast, the quotient, the sum and the
    // remainder.
    return Kernel(randomRows(columns, isWhole)).work(3).operations -
           double(3 * columns * 4);
  };
  double block = tpsp::randomBlockOperations;
  EXPECT_EQ(drawn(64, true), 3 * 64 / 4 * block);
  EXPECT_EQ(drawn(64, false), 3 * 64 * block);
  EXPECT_EQ(drawn(61, true), 3 * 61 * block);
}

TEST(KernelWork, GrowsWithTheGrid) {
  Kernel kernel;
  EXPECT_EQ(kernel.work(12).operations, 3 * kernel.work(4).operations);
  EXPECT_EQ(kernel.work(0).operations, 0);
}
