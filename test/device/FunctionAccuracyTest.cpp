// Every scalar function and its slope in f32, as CPUs and GPUs compute it,
// against the reference's in f64. The arguments cover all exponents of f32 and
// both signs, including denormal numbers, infinities and NaNs.
#include "HostCode.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::device;

namespace {

/// The largest allowed error of a function.
struct Bound {
  const char *name;
  /// In units in the last place of the exact value.
  double value, slope;
  /// For smaller exact values the unit is that of these. They are needed
  /// because a product with a denormal exponential has fewer digits, and a
  /// slope that is a difference has a zero.
  double leastValue = 0, leastSlope = 0;
};

// A GELU in tanh form has an exponential of up to 88 times as many roundings
// as its argument.
constexpr Bound bounds[] = {
    {"neg", 0, 0},
    {"exp", 1, 1},
    {"log", 0.8, 0.5},
    {"tanh", 0.95, 4.1},
    {"sin", 0.51, 0.51},
    {"cos", 0.51, 0.51},
    {"sqrt", 0.5, 1.5},
    {"rsqrt", 1.5, 2.5},
    {"square", 0.5, 0},
    {"sigmoid", 2.5, 4.1},
    {"relu", 0, 0},
    {"silu", 3, 6, 1e-36, 0.1},
    {"softplus", 3, 2.5},
    {"gelu", 250, 9, 1e-36, 0.1},
    {"gelu_erf", 6, 11, 1e-36, 0.1},
};

const Bound &boundOf(llvm::StringRef name) {
  for (const Bound &bound : bounds)
    if (name == bound.name)
      return bound;
  ADD_FAILURE() << "say how exact " << name.str() << " is";
  return bounds[0];
}

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Returns the smallest and largest number of every exponent and sign, and some
/// between them.
std::vector<float> numbers() {
  constexpr int between = 61;
  std::mt19937 engine(7);
  std::vector<float> all;
  for (uint32_t sign : {0u, 0x80000000u})
    for (uint32_t exponent = 0; exponent < 256; ++exponent) {
      uint32_t first = sign | exponent << 23;
      for (uint32_t fraction : {0u, 1u, 0x7fffffu})
        all.push_back(fromBits(first | fraction));
      for (int i = 0; i < between; ++i)
        all.push_back(fromBits(first | (engine() & 0x7fffff)));
    }
  return all;
}

/// Returns the distance between neighbours of `x` in f32.
double unitAt(double x) {
  int exponent;
  std::frexp(std::abs(x), &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

constexpr int64_t count = 2 * 256 * 64;

class FunctionAccuracyTest : public testing::Test {
protected:
  FunctionAccuracyTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    x = numbers();
    EXPECT_EQ(x.size(), size_t(count));
  }

  using Function = Scalar (*)(const Scalar &);

  /// Stores f(x[i]) at y[i].
  static void emitElement(OpBuilder &b, Value x, Value y, Value i,
                          Function function) {
    Location loc = b.getUnknownLoc();
    Value element = memref::LoadOp::create(b, loc, x, i);
    Value made = function(Scalar(b, loc, element)).get();
    memref::StoreOp::create(b, loc, made, y, i);
  }

  OwningOpRef<ModuleOp> newModule() {
    return ModuleOp::create(UnknownLoc::get(context.get()));
  }
  MemRefType memory() {
    return MemRefType::get({count}, Float32Type::get(context.get()));
  }

  /// Runs the function as a CPU's kernel, which does items from a begin to an
  /// end.
  std::vector<float> onHost(Function function) {
    OwningOpRef<ModuleOp> module = newModule();
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    Location loc = b.getUnknownLoc();
    Type index = b.getIndexType();
    auto kernel = func::FuncOp::create(
        b, loc, "kernel",
        b.getFunctionType({memory(), memory(), index, index}, {}));
    for (unsigned i : {0, 1})
      kernel.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    Block *body = kernel.addEntryBlock();
    b.setInsertionPointToStart(body);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    auto loop = scf::ForOp::create(b, loc, body->getArgument(2),
                                   body->getArgument(3), one);
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(loop.getBody());
    emitElement(b, body->getArgument(0), body->getArgument(1),
                loop.getInductionVar(), function);
    auto code = hostKernels(*module);
    EXPECT_TRUE(bool(code)) << llvm::toString(code.takeError());
    std::vector<float> y(count, 99);
    void *from = x.data(), *to = y.data();
    int64_t begin = 0, end = count;
    void *parameters[] = {&from, &to, &begin, &end};
    (*code)->lookup("kernel")(parameters);
    return y;
  }

  /// Runs the function as a GPU's kernel, with a thread for each element.
  std::vector<float> onDevice(Function function) {
    constexpr int64_t threads = 128;
    OwningOpRef<ModuleOp> module = newModule();
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    Location loc = b.getUnknownLoc();
    auto device = gpu::GPUModuleOp::create(b, loc, deviceModuleName);
    b.setInsertionPointToStart(device.getBody());
    auto kernel = gpu::GPUFuncOp::create(
        b, loc, "kernel", b.getFunctionType({memory(), memory()}, {}));
    kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
    b.setInsertionPointToStart(&kernel.getBody().front());
    Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
    Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
    Value width = arith::ConstantIndexOp::create(b, loc, threads);
    Value first = arith::MulIOp::create(b, loc, block, width);
    emitElement(b, kernel.getArgument(0), kernel.getArgument(1),
                arith::AddIOp::create(b, loc, first, thread), function);
    gpu::ReturnOp::create(b, loc);
    auto code = DeviceCode::create(*module);
    EXPECT_TRUE(bool(code)) << llvm::toString(code.takeError());
    std::vector<float> y(count, 99);
    void *from = x.data(), *to = y.data();
    void *parameters[] = {&from, &to};
    EXPECT_EQ(
        (*code)->launch("kernel", {count / threads, 1}, threads, parameters),
        "");
    return y;
  }

  /// Compares the computed values with the reference's function `name`.
  void compare(const std::string &name, const std::vector<float> &y,
               double bound, double least) {
    const auto *exact = reference::findScalarFunction(name);
    ASSERT_TRUE(exact) << name;
    double worst = 0, at = 0;
    for (int64_t i = 0; i < count; ++i) {
      double argument = x[i];
      double wanted = exact->evaluate(&argument, 1);
      if (!std::isfinite(float(wanted))) {
        expectSame(name, x[i], y[i], float(wanted));
        continue;
      }
      double unit = unitAt(std::max(std::abs(wanted), least));
      double error = std::abs(y[i] - wanted) / unit;
      if (!(error <= worst)) {
        worst = error;
        at = x[i];
      }
    }
    EXPECT_LE(worst, bound) << name << " of " << at;
  }

  static void expectSame(const std::string &name, float x, float y,
                         float wanted) {
    if (std::isnan(wanted))
      EXPECT_TRUE(std::isnan(y)) << name << " of " << x << " is " << y;
    else
      EXPECT_EQ(y, wanted) << name << " of " << x;
  }

  template <typename Run> void compareAll(Run run) {
    for (const ScalarFunction &function : scalarFunctions()) {
      const Bound &bound = boundOf(function.name);
      std::string name = function.name.str();
      compare(name, run(function.value), bound.value, bound.leastValue);
      compare("slope." + name, run(function.slope), bound.slope,
              bound.leastSlope);
    }
  }

  std::unique_ptr<MLIRContext> context;
  std::vector<float> x;
};

TEST_F(FunctionAccuracyTest, OnCpus) {
  compareAll([&](Function function) { return onHost(function); });
}

TEST_F(FunctionAccuracyTest, OnGpus) {
  compareAll([&](Function function) { return onDevice(function); });
}

/// Errors must not all be to one side, because a chain of functions would add
/// them up.
TEST_F(FunctionAccuracyTest, LeansToNeitherSide) {
  std::mt19937 engine(3);
  for (const char *name :
       {"tanh", "exp", "log", "sin", "sigmoid", "gelu_erf"}) {
    std::uniform_real_distribution<float> number(0.05, 4);
    for (float &each : x)
      each = number(engine);
    std::vector<float> y = onHost(findScalarFunction(name)->value);
    const auto *exact = reference::findScalarFunction(name);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      double argument = x[i];
      double wanted = exact->evaluate(&argument, 1);
      sum += (y[i] - wanted) / unitAt(wanted);
    }
    EXPECT_NEAR(sum / count, 0, 0.05) << name;
  }
}

} // namespace
