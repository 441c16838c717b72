// Functions of f64 for GPUs, which have no library for them, against the host's
// library.
#include "HostCode.h"

#include "tpsp/InitAll.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::device;

static constexpr int64_t count = 4096;

static const char *text = R"mlir(
gpu.module @tpsp_device_kernels {
  gpu.func @functions(%x: memref<4096xf64>, %exp: memref<4096xf64>,
                      %sin: memref<4096xf64>, %cos: memref<4096xf64>) kernel {
    %block = gpu.block_id x
    %thread = gpu.thread_id x
    %c128 = arith.constant 128 : index
    %first = arith.muli %block, %c128 : index
    %i = arith.addi %first, %thread : index
    %v = memref.load %x[%i] : memref<4096xf64>
    %e = math.exp %v : f64
    %s = math.sin %v : f64
    %c = math.cos %v : f64
    memref.store %e, %exp[%i] : memref<4096xf64>
    memref.store %s, %sin[%i] : memref<4096xf64>
    memref.store %c, %cos[%i] : memref<4096xf64>
    gpu.return
  }
}
)mlir";

namespace {

class DeviceMathTest : public testing::Test {
protected:
  void run(const std::vector<double> &arguments) {
    DialectRegistry registry;
    registerAllDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto code = DeviceCode::create(*module);
    ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
    x = arguments;
    x.resize(count, 1.0);
    const double poison = std::numeric_limits<double>::quiet_NaN();
    for (std::vector<double> *out : {&exp, &sin, &cos})
      out->assign(count, poison);
    void *addresses[] = {x.data(), exp.data(), sin.data(), cos.data()};
    void *parameters[] = {&addresses[0], &addresses[1], &addresses[2],
                          &addresses[3]};
    ASSERT_EQ((*code)->launch("functions", {count / 128, 1}, 128, parameters),
              "");
  }

  std::vector<double> x, exp, sin, cos;
};

} // namespace

TEST_F(DeviceMathTest, IsExactToAFewRoundings) {
  std::mt19937 engine(99);
  for (double largest : {1.0, 700.0, 0x1p30}) {
    std::uniform_real_distribution<double> number(-largest, largest);
    std::vector<double> arguments(count);
    for (double &argument : arguments)
      argument = number(engine);
    run(arguments);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_NEAR(sin[i], std::sin(x[i]), 4e-16) << x[i];
      EXPECT_NEAR(cos[i], std::cos(x[i]), 4e-16) << x[i];
      double expected = std::exp(x[i]);
      if (std::isfinite(expected))
        EXPECT_NEAR(exp[i], expected, 1e-15 * expected) << x[i];
      else
        EXPECT_EQ(exp[i], expected) << x[i];
    }
  }
}

TEST_F(DeviceMathTest, KnowsTheEnds) {
  const double infinity = std::numeric_limits<double>::infinity();
  run({infinity, -infinity, std::nan(""), 0.0, 710.0, -760.0, -745.0});
  EXPECT_EQ(exp[0], infinity);
  EXPECT_EQ(exp[1], 0);
  EXPECT_TRUE(std::isnan(exp[2]));
  EXPECT_EQ(exp[3], 1);
  EXPECT_EQ(exp[4], infinity);
  EXPECT_EQ(exp[5], 0);
  EXPECT_EQ(exp[6], std::exp(-745.0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(sin[i])) << i;
    EXPECT_TRUE(std::isnan(cos[i])) << i;
  }
  EXPECT_EQ(sin[3], 0);
  EXPECT_EQ(cos[3], 1);
}
