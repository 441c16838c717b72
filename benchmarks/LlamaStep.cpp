// bench-llama-step MODEL.mlir: measures a forward+backward step on one rank,
// which uses all cores. Compares it with its own matmuls alone, done by oneDNN,
// and with four ranks. Prints medians. The three are measured in turns in one
// run, so that the machine's other load affects all alike.
#include "tpsp/Abi/Commands.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"
#include "tpsp/Runtime/World.h"

#include "mlir/IR/MLIRContext.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace tpsp;
using Clock = std::chrono::steady_clock;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Work> double timed(Work work) {
  auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// One matmul command with its buffers in an arena.
struct Product {
  rt::MatmulCommand command;
  int64_t a, b, c; // byte offsets
};

/// A compiled program on its ranks.
struct Running {
  Plan plan;
  std::vector<Product> products;
  std::unique_ptr<JitProgram> program;
  std::unique_ptr<rt::World> world;

  void step() {
    rt::Status status = world->run(
        [&](rt::Rank &rank) { return rank.step(program->step, plan); });
    if (!status.ok())
      fmt::print(stderr, "{}\n", status.message());
  }
};

std::vector<Product> productsOf(mlir::ModuleOp plan) {
  std::vector<Product> products;
  plan.walk([&](plan::MatmulOp op) {
    Product product;
    std::vector<int64_t> params = op.encode();
    rt::decode(params.data(), params.size(), product.command);
    auto offset = [](mlir::Value v) { return *plan::bufferOf(v).getOffset(); };
    product.a = offset(op.getA());
    product.b = offset(op.getB());
    product.c = offset(op.getC());
    products.push_back(product);
  });
  return products;
}

llvm::Expected<Running> start(mlir::MLIRContext &context, const char *path,
                              const std::string &mesh) {
  Running running;
  CompileOptions options;
  options.grad = true;
  options.mesh = {mesh};
  auto model = compileModel(context, path, options, [](llvm::StringRef) {});
  if (!model)
    return model.takeError();
  running.plan = *model->plan;
  running.products = productsOf(*model->module);
  auto program = JitProgram::create(*model->module, running.plan.program);
  if (!program)
    return program.takeError();
  running.program = std::make_unique<JitProgram>(std::move(*program));
  rt::WorldConfig config;
  config.mesh = running.plan.mesh;
  config.arenaBytes = running.plan.arenaBytes;
  rt::Status status = rt::World::create(config, running.world);
  if (status.ok())
    status = running.world->run([&](rt::Rank &rank) {
      for (const PlanBuffer &tensor : running.plan.tensors())
        if (tensor.isArgument())
          rt::RandomTensor(tensor, 0).fill(
              rt::Shard(tensor, running.plan.mesh, rank.coordinates()),
              rank.hostAddress(*tensor.offset));
      return rt::Status();
    });
  if (!status.ok())
    return llvm::createStringError(status.message());
  return running;
}

/// Calls `visit` with the offsets of every point of some loops.
template <typename Visit>
void forEachPoint(const std::vector<rt::MatmulLoop> &loops, size_t depth,
                  int64_t a, int64_t b, int64_t c, Visit visit) {
  if (depth == loops.size())
    return visit(a, b, c);
  const rt::MatmulLoop &loop = loops[depth];
  for (int64_t i = 0; i < loop.extent; ++i)
    forEachPoint(loops, depth + 1, a + i * loop.strideA, b + i * loop.strideB,
                 c + i * loop.strideC, visit);
}

/// The floor: computes a plan's product by a call of oneDNN.
void multiply(const Product &product, char *arena) {
  const rt::MatmulCommand &p = product.command;
  auto *a = reinterpret_cast<float *>(arena + product.a);
  auto *b = reinterpret_cast<float *>(arena + product.b);
  auto *c = reinterpret_cast<float *>(arena + product.c);
  forEachPoint(p.batch, 0, 0, 0, 0, [&](int64_t oa, int64_t ob, int64_t oc) {
    float beta = 0;
    forEachPoint(
        p.accumulate, 0, oa, ob, oc, [&](int64_t ia, int64_t ib, int64_t ic) {
          dnnl_sgemm(p.transposeA ? 'T' : 'N', p.transposeB ? 'T' : 'N', p.m,
                     p.n, p.k, 1.0f, a + ia, p.lda, b + ib, p.ldb, beta, c + ic,
                     p.ldc);
          beta = 1;
        });
  });
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench-llama-step MODEL.mlir [rounds]\n");
    return 2;
  }
  int rounds = argc > 2 ? std::stoi(argv[2]) : 5;
  rt::registerBuiltinBackends();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto one = start(context, argv[1], "tp=1");
  auto four = start(context, argv[1], "tp=4");
  if (!one || !four) {
    fmt::print(stderr, "{}\n",
               llvm::toString(one ? four.takeError() : one.takeError()));
    return 1;
  }
  std::vector<char> memory(one->plan.arenaBytes);
  // Denormals and NaN would slow the floor down.
  std::fill_n(reinterpret_cast<float *>(memory.data()), memory.size() / 4,
              0.5f);
  omp_set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  auto floor = [&] {
    for (const Product &product : one->products)
      multiply(product, memory.data());
  };
  one->step();
  four->step();
  floor();
  std::vector<double> alone, single, several;
  for (int round = 0; round < rounds; ++round) {
    alone.push_back(timed(floor));
    single.push_back(timed([&] { one->step(); }));
    several.push_back(timed([&] { four->step(); }));
  }
  double flops = one->plan.matmulFlops();
  fmt::print("{:<28} {:>9} {:>10} {:>14}\n", "median", "seconds", "GFLOP/s",
             "ratio");
  auto row = [&](const char *name, double seconds, double ratio,
                 const char *of) {
    fmt::print("{:<28} {:>9.3f} {:>10.1f} {:>8.3f} {}\n", name, seconds,
               flops / seconds * 1e-9, ratio, of);
  };
  row("matmuls alone (oneDNN)", median(alone), 1, "");
  row("step, one rank, all cores", median(single),
      median(single) / median(alone), "of the matmuls");
  row("step, four ranks", median(several), median(several) / median(single),
      "of one rank");
  return 0;
}
